//! How long the commands take that scripts call all the time, beside `true` in the same run.
//!
//! `cargo bench --bench startup` prints a table and fails where a bar is missed. The catalogue is the built-in
//! library plus 200 personas in two layers.

#[path = "rows.rs"]
mod rows;

use rows::{BINARY, Row};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 20;
const MOST_TIMES_TRUE: f64 = 10.0;
const MOST_MEGABYTES: f64 = 15.0;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // Peak memory of children is only known of a process's own, so each is measured from a process of its own.
    if let Some(at) = args.iter().position(|arg| arg == "--peak") {
        return print_peak(&args[at + 1..]);
    }
    let world = World::new();
    println!("{:<34} {:>9} {:>9} {:>8} {:>8}", "command (min of 20)", "ms", "true ms", "x true", "MB");
    let mut missed = false;
    for (name, args, barred) in [
        ("--version", vec!["--version"], false),
        ("list --json", vec!["list", "--json"], true),
        ("agent debugger --dry-run --json", vec!["agent", "debugger", "--dry-run", "--json"], true),
        ("agent user-50 --dry-run --json", vec!["agent", "user-50", "--dry-run", "--json"], true),
        ("show user-50 --json", vec!["show", "user-50", "--json"], false),
    ] {
        let (time, baseline) = fastest(&world, &args);
        let ratio = time.as_secs_f64() / baseline.as_secs_f64();
        let memory = world.peak_megabytes(&args);
        let miss = barred && (ratio > MOST_TIMES_TRUE || memory > MOST_MEGABYTES);
        missed |= miss;
        let mark = if miss { "  MISSED" } else { "" };
        let (time, baseline) = (millis(time), millis(baseline));
        Row {
            key: name,
            what: &format!("`{name}`"),
            millis: Some(time),
            megabytes: Some(memory),
            floor: "`true`",
            floor_millis: Some(baseline),
            floor_megabytes: None,
        }
        .write();
        println!("{name:<34} {time:>9.2} {baseline:>9.2} {ratio:>8.1} {memory:>8.1}{mark}");
    }
    println!("bars: at most {MOST_TIMES_TRUE}x `true`, at most {MOST_MEGABYTES} MB");
    assert!(!missed, "a bar is missed");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::Builder::new().prefix("aw-bench-").tempdir().expect("a temp directory");
        let world = World { dir };
        for number in 0..100 {
            write_persona(&world.path("home/.agentworkforce/workforce/personas"), &format!("user-{number}"));
            write_persona(
                &world.path("project/.agentworkforce/workforce/personas"),
                &format!("project-{number}"),
            );
        }
        world
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(args);
        command
    }

    fn settle(&self, command: &mut Command) {
        command.env("HOME", self.path("home")).current_dir(self.path("project"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    }

    fn peak_megabytes(&self, args: &[&str]) -> f64 {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("--peak").arg(BINARY).args(args);
        self.settle(&mut command);
        let output = command.stdout(Stdio::piped()).output().expect("it runs");
        let kilobytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        kilobytes / 1024.0
    }
}

/// A tiered persona of the size that people write.
fn write_persona(dir: &Path, id: &str) {
    std::fs::create_dir_all(dir).expect("writable");
    let prompt = "Look at the code with care and say what you see. ".repeat(20);
    let tier = format!(
        r#"{{"harness": "claude", "model": "sonnet", "systemPrompt": "{prompt}",
            "harnessSettings": {{"reasoning": "medium", "timeoutSeconds": 900}}}}"#
    );
    let text = format!(
        r#"{{"id": "{id}", "intent": "{id}", "description": "One of many", "tags": ["review"],
            "permissions": {{"allow": ["Read", "Grep"], "deny": ["Write"]}},
            "tiers": {{"best": {tier}, "best-value": {tier}, "minimum": {tier}}}}}"#
    );
    std::fs::write(dir.join(format!("{id}.json")), text).expect("writable");
}

/// The command and `true`, taking turns: whatever else the machine does then hits both.
fn fastest(world: &World, args: &[&str]) -> (Duration, Duration) {
    let run = |mut command: Command| {
        world.settle(&mut command);
        let start = Instant::now();
        let status = command.status().expect("it runs");
        assert!(status.success(), "{command:?}: {status}");
        start.elapsed()
    };
    let times: Vec<(Duration, Duration)> =
        (0..RUNS).map(|_| (run(world.command(args)), run(Command::new("true")))).collect();
    let least = |time: fn(&(Duration, Duration)) -> Duration| times.iter().map(time).min().expect("runs");
    (least(|(time, _)| *time), least(|(_, baseline)| *baseline))
}

fn print_peak(words: &[String]) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().expect("it runs").success());
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage");
    println!("{}", usage.max_rss());
}
