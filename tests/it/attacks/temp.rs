//! Attacks through temporary directories: other programs of the user load what they have put there a moment ago, and a file there
//! with a special mode makes somebody else the user. At `strict` a run has temporary directories of its own.

use crate::support::mount::{
    BINARY, ORDINARY_ID, World, for_each_identity, identities, is_root, is_unprivileged, read,
};
use crate::support::require;
use crate::support::sessions::Did;
use pretty_assertions::assert_eq;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

const PLACES: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A directory of the world's user in a place for temporary files, as another program would have it.
fn other_programs(world: &World, place: &str) -> tempfile::TempDir {
    let dir = tempfile::Builder::new().prefix("aw-other-").tempdir_in(place).unwrap();
    std::fs::write(dir.path().join("loaded.so"), "the program's\n").unwrap();
    if is_unprivileged(world.who) && is_root() {
        for path in [dir.path().to_owned(), dir.path().join("loaded.so")] {
            chown(path, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
        }
    }
    dir
}

/// What is left of a session's temporary files.
fn left(world: &World) -> Vec<PathBuf> {
    let sessions = std::fs::read_dir(world.sessions()).unwrap().flatten();
    sessions.map(|session| session.path().join("temp")).filter(|path| path.exists()).collect()
}

#[test]
fn what_other_programs_have_in_temporary_directories_cannot_be_replaced_at_strict() {
    for who in identities() {
        let place = require::place_outside_of_temp();
        let base = World::new_in(who, place);
        let others = PLACES.map(|place| other_programs(&base, place));
        let mut script = "begins; sees=\n".to_owned();
        for (place, other) in PLACES.iter().zip(&others) {
            let (dir, mark) = (other.path().display(), format!("{place}/aw-mark-{}", std::process::id()));
            // Replaced as a program that loads it would find it; a copy that whoever starts it is the user with.
            script += &format!(
                "test -e {dir} && sees=\"$sees {dir}\"; test -e {mark} && sees=\"$sees {mark}\"
                (echo FORGED > {dir}/new && mv {dir}/new {dir}/loaded.so) 2> /dev/null
                cp /bin/true {mark} && chmod 6755 {mark} || exit 9\n"
            );
        }
        script += "t=$(mktemp) && echo works > $t && mktemp -p /var/tmp > /dev/null || exit 8
            echo \"sees:$sees\" > seen; answers done\n";
        let world = World::with_harness_in(who, place, &script);
        // Nothing of the first run is there in the second.
        for _ in 0..2 {
            let (report, code) = world.report(&["--sandbox", "strict"]);
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(read(world.project().join("seen")), "sees:\n");
        }
        for (place, other) in PLACES.iter().zip(&others) {
            assert_eq!(read(other.path().join("loaded.so")), "the program's\n", "{place}");
            assert!(!Path::new(place).join(format!("aw-mark-{}", std::process::id())).exists(), "{place}");
        }
        assert_eq!(left(&world), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_temporary_directory_that_a_variable_names_is_the_runs_own_at_strict() {
    for who in identities() {
        let world = World::new_in(who, require::place_outside_of_temp());
        world.files(&[("a", "")]);
        let other = other_programs(&world, "/tmp");
        let elsewhere = world.path("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        world.give();
        let script = "t=$(mktemp) && echo x > $t && dirname $t; ls $TMPDIR | grep -vxF \"$2\" | wc -l
            echo FORGED > $1/loaded.so; true";
        // A runner that is in a temporary directory itself can be seen there.
        let runner = Path::new(BINARY).strip_prefix("/tmp").ok().and_then(|below| below.iter().next());
        let run = |temp: &Path| {
            let mut command =
                world.aw_command(["mount", "--sandbox", "strict", "--", "sh", "-c", script, "sh"]);
            let command = command.arg(temp).arg(runner.unwrap_or("-".as_ref())).env("TMPDIR", temp);
            Did::of(&command.output().unwrap()).ends(0).stdout
        };
        // In the fresh one, with a file of its own; elsewhere it cannot be written, so the run gets another.
        assert_eq!(run(other.path()), format!("{}\n1\n", other.path().display()));
        assert_eq!(run(&elsewhere), "/tmp\n1\n");
        assert_eq!(read(other.path().join("loaded.so")), "the program's\n");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        // One that does not exist yet.
        let missing = other.path().join("deep/er");
        assert_eq!(run(&missing), format!("{}\n1\n", missing.display()));
        assert!(!missing.exists());
    }
}

#[test]
fn a_project_in_a_temporary_directory_stays_where_it_is_at_strict() {
    for place in PLACES {
        for_each_identity(|base| {
            let temp = other_programs(&base, place);
            let world = World::new_in(base.who, temp.path());
            world.repository(&[("a", "base\n"), (".env", "SECRET=1\n")]);
            std::fs::write(world.path("beside"), "the user's\n").unwrap();
            world.give();
            // The directory above is the run's own: it must not be moved away for another project in its place.
            let script =
                "cat a; ! test -e .env || echo hidden; cat ../beside; (echo FORGED > ../beside) 2> /dev/null || true
                d=$(dirname $(dirname $PWD)); mv $d $d.away 2> /dev/null && echo moved || true
                mv $(dirname $PWD) $d/away 2> /dev/null && echo moved || true; echo agent > a; git status --short
                ! test -e $d/loaded.so || echo seen; touch $d/mine && ls $d | wc -l";
            let mut command = world.mounted_command(&["--sandbox", "strict"], script);
            let did = Did::of(&command.env("TMPDIR", temp.path()).output().unwrap()).ends(0);
            assert_eq!(did.stdout, "base\nthe user's\n M a\n2\n", "{did:#?}");
            assert_eq!(read(world.path("beside")), "the user's\n");
            assert_eq!(read(world.project().join("a")), "agent\n");
            assert!(!temp.path().join("mine").exists());
            drop(world);
        });
    }
}
