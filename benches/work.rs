//! How long the verification of a piece of work takes besides its commands, beside one `git status` in the same tree, and what a
//! large changed file costs in memory.
//!
//! `cargo bench --bench work` prints a table and fails where a bar is missed: 10 changes in a tree of 20,000 files, among them as much
//! code as is looked at, at most three times the time of `git status`. What it takes is what the program itself says with `-v`: from the
//! end of the worker to the last check, without the commands. Both take turns, and the fastest counts.

#[path = "rows.rs"]
mod rows;

use rows::{BINARY, Row};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const TURNS: usize = 9;
const FILES: usize = 20_000;
/// In the language of the changes: up to 1,500 files of it are read.
const CODE: usize = 1_400;
const CHANGED: usize = 10;
const MOST_TIMES_STATUS: f64 = 3.0;
const LARGE_FILE: usize = 400 << 20;
const MOST_MEGABYTES_MORE: f64 = 4.0;

/// Changes what `BENCH_SCRIPT` says, then says what claude says when all is well.
const HARNESS: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 1.0.0; exit 0; }
cat > /dev/null
eval "$BENCH_SCRIPT"
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
    let (mut status, mut own) = (Duration::MAX, f64::MAX);
    for _ in 0..TURNS {
        status = status.min(world.git_status());
        own = own.min(world.verification());
    }
    let status = status.as_secs_f64() * 1000.0;
    let times = own / status;
    println!("git status {status:.1} ms, verification without its commands {own:.1} ms: {times:.2} times");
    Row {
        key: "",
        what: "verify 10 changes in 20,000 files, commands not counted",
        millis: Some(own),
        megabytes: None,
        floor: "`git status`",
        floor_millis: Some(status),
        floor_megabytes: None,
    }
    .write();
    let (small, large) = (world.peak_megabytes(1), world.peak_megabytes(LARGE_FILE));
    println!("peak memory {large:.1} MB with a changed file of 400 MB, {small:.1} MB with one of a byte");
    Row {
        key: "",
        what: "verify a changed file of 400 MB",
        millis: None,
        megabytes: Some(large),
        floor: "a file of one byte",
        floor_millis: None,
        floor_megabytes: Some(small),
    }
    .write();
    assert!(times <= MOST_TIMES_STATUS, "MISSED: the bar is {MOST_TIMES_STATUS} times");
    assert!(large - small <= MOST_MEGABYTES_MORE, "MISSED: the bar is {MOST_MEGABYTES_MORE} MB more");
}

struct World {
    dir: PathBuf,
}

impl World {
    fn prepare(&self) {
        for name in ["home", "bin", "project"] {
            std::fs::create_dir_all(self.dir.join(name)).expect("writable");
        }
        let harness = self.dir.join("bin/claude");
        std::fs::write(&harness, HARNESS).expect("writable");
        std::fs::set_permissions(&harness, std::fs::Permissions::from_mode(0o755)).expect("writable");
        for number in 0..FILES {
            let dir = self.dir.join(format!("project/d{}", number / 100));
            if number % 100 == 0 {
                std::fs::create_dir_all(&dir).expect("writable");
            }
            let (ending, text) = if number < CODE {
                ("js", format!("export function f{number}(a, b) {{\n  return a + b + {number};\n}}\n"))
            } else {
                ("txt", format!("{number}\n"))
            };
            std::fs::write(dir.join(format!("f{number}.{ending}")), text).expect("writable");
        }
        for args in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "-m", "b"],
        ] {
            // Housekeeping in the background would disturb the measurement, and its end.
            let quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"];
            let mut git = Command::new("git");
            let status = git.args(quiet).args(args).current_dir(self.dir.join("project")).status();
            assert!(status.expect("git runs").success());
        }
    }

    fn git_status(&self) -> Duration {
        let mut git = Command::new("git");
        git.args(["--no-optional-locks", "status", "--porcelain"]).current_dir(self.dir.join("project"));
        let began = Instant::now();
        let output = git.output().expect("git runs");
        let took = began.elapsed();
        assert!(output.status.success() && output.stdout.is_empty(), "the project is unchanged");
        took
    }

    /// What the program says that the verification took, in milliseconds.
    fn verification(&self) -> f64 {
        let change =
            |number: usize| format!("echo 'export const c{number} = f{number}(1, 2);' >> d0/f{number}.js;");
        let script: String = (0..CHANGED).map(change).collect();
        let output = self.work(&script).output().expect("it runs");
        let said = approved(&output);
        let number = said.split("own_milliseconds=").nth(1).and_then(|rest| {
            let rest = rest.trim_start_matches('"');
            rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok()
        });
        number.unwrap_or_else(|| panic!("it says how long it took: {said}"))
    }

    fn work(&self, script: &str) -> Command {
        let mut command = Command::new(BINARY);
        self.prepared(&mut command, script);
        command.args(words());
        command
    }

    fn prepared(&self, command: &mut Command, script: &str) {
        let path =
            format!("{}:{}", self.dir.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.current_dir(self.dir.join("project"));
        command.env("HOME", self.dir.join("home")).env("PATH", path).env("BENCH_SCRIPT", script);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    fn peak_megabytes(&self, size: usize) -> f64 {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        self.prepared(&mut command, &format!("head -c {size} /dev/zero > large.bin"));
        let output = command.arg("--peak").arg(BINARY).args(words()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let kilobytes: f64 = said
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("a number, not {said}: {}", String::from_utf8_lossy(&output.stderr)));
        kilobytes / 1024.0
    }
}

fn words() -> [&'static str; 14] {
    [
        "work",
        "change it",
        "--as",
        "engineer",
        "--check",
        "test -e d0/f0.js",
        "--apply",
        "never",
        "--json",
        "-v",
        "--attempts",
        "1",
        "--mount",
        "overlay",
    ]
}

fn approved(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    said
}

fn print_peak(words: &[String]) {
    let mut command = Command::new(&words[0]);
    let output = command.args(&words[1..]).stdin(Stdio::null()).output().expect("it runs");
    approved(&output);
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage");
    println!("{}", usage.max_rss());
}
