//! How long it takes from the call of `agent` until the harness runs, with nothing to mount and with 20,000 files to mount.
//!
//! `cargo bench --bench launch` prints a table and fails where the second takes 40 ms more than the first. The harness is a script
//! that notes the time, so the table shows what the runner adds to a bare harness.

#[path = "rows.rs"]
mod rows;

use rows::{BINARY, Row};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const RUNS: usize = 15;
const FILES: usize = 20_000;
const MOST_MORE: Duration = Duration::from_millis(40);

/// Notes the time, then says what claude says when all is well.
const HARNESS: &str = r#"#!/bin/sh
date +%s%N > "$BENCH_STARTED"
[ "$1" = --version ] && { echo 1.0.0; exit 0; }
cat > /dev/null
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}'
"#;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // Peak memory of children is only known of a process's own, so each is measured from a process of its own.
    if let Some(at) = args.iter().position(|arg| arg == "--peak") {
        return print_peak(&args[at + 1..]);
    }
    let dir = tempfile::Builder::new().prefix("aw-bench-").tempdir().expect("a temp directory");
    let world = World { dir: dir.path().canonicalize().expect("it exists") };
    world.prepare();
    let rows = [
        ("the harness alone", world.bare_command(), "empty"),
        ("agent, empty project", world.agent_command(), "empty"),
        ("agent, 20,000 files", world.agent_command(), "large"),
    ];
    let mut best = [Duration::MAX; 3];
    for _ in 0..RUNS {
        // In turns, so that a noisy moment hits all of them.
        for (index, (_, command, project)) in rows.iter().enumerate() {
            best[index] = best[index].min(world.until_started(command, project));
        }
    }
    println!("{:<24} {:>22} {:>8}", "min of 15", "ms until it starts", "MB");
    let millis = best.map(|time| time.as_secs_f64() * 1000.0);
    for (index, (name, command, project)) in rows.iter().enumerate() {
        let memory = world.peak_megabytes(command, project);
        println!("{name:<24} {:>22.1} {memory:>8.1}", millis[index]);
        if index > 0 {
            Row {
                key: name,
                what: &format!("{name}: until the harness starts"),
                millis: Some(millis[index]),
                megabytes: Some(memory),
                floor: "the harness alone",
                floor_millis: Some(millis[0]),
                floor_megabytes: None,
            }
            .write();
        }
    }
    let more = best[2].saturating_sub(best[1]);
    println!(
        "20,000 files cost {:.1} ms more; the bar is {} ms",
        more.as_secs_f64() * 1000.0,
        MOST_MORE.as_millis()
    );
    assert!(more <= MOST_MORE, "MISSED: the bar is missed");
}

struct World {
    dir: PathBuf,
}

impl World {
    fn prepare(&self) {
        for name in ["home", "bin", "empty", "large"] {
            std::fs::create_dir_all(self.dir.join(name)).expect("writable");
        }
        let harness = self.dir.join("bin/claude");
        std::fs::write(&harness, HARNESS).expect("writable");
        std::fs::set_permissions(&harness, std::fs::Permissions::from_mode(0o755)).expect("writable");
        for number in 0..FILES {
            let dir = self.dir.join(format!("large/d{}", number / 100));
            if number % 100 == 0 {
                std::fs::create_dir_all(&dir).expect("writable");
            }
            std::fs::write(dir.join(format!("f{number}.txt")), number.to_string()).expect("writable");
        }
        for name in ["empty", "large"] {
            for args in [
                &["init", "-q"][..],
                &["add", "-A"],
                &["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "--allow-empty", "-m", "b"],
            ] {
                // Housekeeping in the background would disturb the measurement, and its end.
                let quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"];
                let mut git = Command::new("git");
                let status = git.args(quiet).args(args).current_dir(self.dir.join(name)).status();
                assert!(status.expect("git runs").success());
            }
        }
    }

    fn bare_command(&self) -> Vec<String> {
        vec![self.dir.join("bin/claude").display().to_string(), "-p".into()]
    }

    fn agent_command(&self) -> Vec<String> {
        let words = ["agent", "engineer", "-p", "x", "--json", "--mount", "overlay"];
        let binary = BINARY.to_owned();
        std::iter::once(binary).chain(words.map(str::to_owned)).collect()
    }

    fn command(&self, words: &[String], project: &str) -> Command {
        let started = self.dir.join("started");
        let path =
            format!("{}:{}", self.dir.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.dir.join(project));
        command.env("HOME", self.dir.join("home")).env("PATH", path).env("BENCH_STARTED", &started);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn peak_megabytes(&self, words: &[String], project: &str) -> f64 {
        let this = std::env::current_exe().expect("this program").display().to_string();
        let words = [&[this, "--peak".to_owned()], words].concat();
        let output = self.command(&words, project).stdout(Stdio::piped()).output().expect("it runs");
        let kilobytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        kilobytes / 1024.0
    }

    fn until_started(&self, words: &[String], project: &str) -> Duration {
        let mut command = self.command(words, project);
        let before = SystemTime::now();
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        noted(&self.dir.join("started")).duration_since(before).unwrap_or_default()
    }
}

fn noted(file: &Path) -> SystemTime {
    let text = std::fs::read_to_string(file).expect("the harness ran");
    UNIX_EPOCH + Duration::from_nanos(text.trim().parse().expect("nanoseconds"))
}

fn print_peak(words: &[String]) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().expect("it runs").success());
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage");
    println!("{}", usage.max_rss());
}
