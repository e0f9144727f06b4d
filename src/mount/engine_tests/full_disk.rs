//! A disk that is full at any point of an apply: the project is untouched or changed as intended, and with room again the
//! apply goes through. On a small filesystem in a mount namespace of its own.

use super::laws::expected;
use super::script::Rng;
use super::snapshot::snapshot;
use super::world::{Run, World};
use crate::mount::CrashPoints;
use crate::mount::apply::{ApplyResult, Selection, apply, recover};
use crate::mount::changes::Ignored;
use pretty_assertions::assert_eq;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const SMALL: &str = "AGENTWORKFORCE_SMALL_DISK";

#[test]
fn a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=640k,mode=0777 tmpfs \"$1\" && shift && exec \"$@\"";
    let run = |user_namespace: bool| {
        let mut command = Command::new("unshare");
        if user_namespace {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", script, "sh"]).arg(dir.path());
        command.arg(std::env::current_exe().unwrap());
        command.args([
            "--ignored",
            "--exact",
            "mount::engine_tests::full_disk::on_a_small_disk",
            "--nocapture",
        ]);
        command.env(SMALL, dir.path()).output()
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let output = run(!rustix::process::geteuid().is_root()).expect("`unshare` is needed: install util-linux");
    assert!(
        output.status.success() && said(&output).contains("running 1 test"),
        "{}\n{}",
        said(&output),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Not a test by itself.
#[test]
#[ignore = "the body of the process on the small disk"]
fn on_a_small_disk() {
    let disk = std::env::var_os(SMALL).expect("only `a_full_disk_loses_nothing` starts it");
    let disk = Path::new(&disk);
    let (mut refused, mut applied) = (0, 0);
    for seed in 0..60 {
        let world = World::generate(&mut Rng::new(seed));
        let Some(intended) = expected(&world).filter(|intended| *intended != world.base) else { continue };
        let run = Run::copied_at(&world, disk);
        let before = snapshot(&run.project);
        let free = usize::try_from(seed).unwrap() % 12 * 4096;
        let filler = disk.join("filler");
        fill(&filler, free);
        let crash_points = CrashPoints::none();
        let context = run.context(&crash_points);
        let result = run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut));
        let now = snapshot(&run.project);
        match result {
            Ok(outcome) => {
                assert_eq!(outcome.status, ApplyResult::Applied);
                applied += 1;
                assert_eq!(now, intended, "seed {seed}");
            }
            Err(error) => {
                refused += 1;
                assert_eq!(now, before, "seed {seed}: {error:#}");
                assert!(format!("{error:#}").contains("No space left"), "{error:#}");
            }
        }
        std::fs::remove_file(&filler).unwrap();
        recover(&context).unwrap();
        run.apply();
        assert_eq!(snapshot(&run.project), intended, "seed {seed}");
    }
    assert!(refused > 5 && applied > 5, "refused {refused}, applied {applied}");
}

/// Leaves about this many bytes free.
fn fill(path: &Path, free: usize) {
    let mut file = std::fs::File::create(path).unwrap();
    let block = [7_u8; 4096];
    let mut size = 0;
    while file.write_all(&block).is_ok() {
        size += block.len();
    }
    file.set_len(u64::try_from(size.saturating_sub(free)).unwrap()).unwrap();
}
