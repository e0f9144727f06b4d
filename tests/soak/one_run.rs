//! Starts one run, hurts it as it is to be hurt, and waits for its end.

use super::wish::{By, When, Wish};
use super::world::World;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(4);
/// No run takes that long; one that does hangs.
const HANGS: Duration = Duration::from_secs(90);

/// What became of a run.
pub struct Did {
    pub number: usize,
    pub pid: u32,
    pub status: ExitStatus,
    pub report: Option<Value>,
    pub stderr: String,
    pub took: Duration,
    /// When it was hurt, and what its session said then.
    pub hurt: Option<(Duration, String)>,
    /// The most memory of the runner, in kilobytes.
    pub peak: u64,
    pub hung: bool,
}

/// How long runs take here, as seen so far.
pub struct Pace(Mutex<Times>);

#[derive(Clone, Copy)]
struct Times {
    whole: Duration,
    /// From the end of the agent's work to the end of the run.
    after_work: Duration,
}

impl Pace {
    pub fn starting_at(took: Duration) -> Pace {
        Pace(Mutex::new(Times { whole: took * 2, after_work: took / 2 }))
    }

    fn now(&self) -> Times {
        *self.0.lock().expect("nobody panics with it")
    }

    fn note(&self, whole: Duration, after_work: Duration) {
        let mut pace = self.0.lock().expect("nobody panics with it");
        pace.whole = (pace.whole * 7 + whole) / 8;
        pace.after_work = (pace.after_work * 7 + after_work) / 8;
    }
}

pub fn carry_out(world: &World, wish: &Wish, pace: &Pace) -> Did {
    let mut args = vec!["agent", "worker", "-p", "do it", "--json", "--mount", wish.backend];
    args.extend(wish.apply.iter().flat_map(|apply| ["--apply", apply]));
    let mut command = world.command(&args, wish.project);
    // A group of its own, as a shell gives it: Ctrl-C goes to the whole of it.
    command.env("SOAK_RUN", wish.number.to_string()).process_group(0);
    let began = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let (stdout, stderr) = (reading(child.stdout.take()), reading(child.stderr.take()));
    let mut run =
        Running { world, wish, began, worked: None, due: None, hurt: None, peak: 0, pid: child.id() };
    let (status, hung) = run.wait(&mut child, pace.now());
    let took = began.elapsed();
    if wish.death.is_none()
        && let Some(worked) = run.worked
    {
        pace.note(took, worked.elapsed());
    }
    let text = |bytes: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&bytes.join().unwrap_or_default()).into_owned()
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    Did {
        number: wish.number,
        pid: run.pid,
        status,
        report: serde_json::from_str(&stdout).ok(),
        stderr,
        took,
        hurt: run.hurt,
        peak: run.peak,
        hung,
    }
}

fn reading(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.expect("piped").read_to_end(&mut bytes);
        bytes
    })
}

struct Running<'a> {
    world: &'a World,
    wish: &'a Wish,
    began: Instant,
    /// When the agent's work was seen to be done.
    worked: Option<Instant>,
    /// When it is to be hurt, once that is known.
    due: Option<Instant>,
    hurt: Option<(Duration, String)>,
    peak: u64,
    pid: u32,
}

impl Running<'_> {
    fn wait(&mut self, child: &mut Child, pace: Times) -> (ExitStatus, bool) {
        let mut looked = self.began;
        loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                return (status, false);
            }
            if self.began.elapsed() > HANGS {
                let _ = child.kill();
                return (child.wait().expect("it is ours"), true);
            }
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                self.peak = self.peak.max(peak(self.pid).unwrap_or(0));
            }
            if self.worked.is_none() && self.world.mark(self.wish.number, "done").exists() {
                self.worked = Some(Instant::now());
            }
            self.hurt_if_due(pace);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn hurt_if_due(&mut self, pace: Times) {
        let Some(death) = self.wish.death.filter(|_| self.hurt.is_none()) else { return };
        if self.due.is_none() {
            self.due = match death.when {
                When::AfterStart(part) => Some(self.began + pace.whole.mul_f64(part)),
                When::AfterWork(part) => self.worked.map(|worked| worked + pace.after_work.mul_f64(part)),
            };
        }
        if self.due.is_some_and(|due| Instant::now() >= due) {
            let when = self.began.elapsed();
            if self.hurt(death.by) {
                self.hurt = Some((when, self.said()));
            }
        }
    }

    /// Whether there was somebody to hurt.
    fn hurt(&self, by: By) -> bool {
        let runner = Pid::from_raw(i32::try_from(self.pid).expect("a pid"));
        match by {
            By::KillOfTheRunner => kill(runner, Signal::SIGKILL).is_ok(),
            By::TermOfTheRunner => kill(runner, Signal::SIGTERM).is_ok(),
            By::CtrlC => killpg(runner, Signal::SIGINT).is_ok(),
            By::KillOfTheHarness => {
                self.processes(true).first().is_some_and(|pid| kill(*pid, Signal::SIGKILL).is_ok())
            }
            By::KillOfAny => {
                let all = self.processes(false);
                let chosen = all.get(self.wish.number % all.len().max(1));
                chosen.is_some_and(|pid| kill(*pid, Signal::SIGKILL).is_ok())
            }
        }
    }

    /// The processes of this run, from outside of any namespace: the harness alone, or all but the runner.
    fn processes(&self, harness: bool) -> Vec<Pid> {
        let mark = format!("SOAK_RUN={}", self.wish.number);
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_of_run = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
        };
        let is_harness = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("/bin/claude")
        };
        pids.filter(|pid| i64::from(*pid) != i64::from(self.pid))
            .filter(|pid| is_of_run(pid) && (!harness || is_harness(pid)))
            .map(Pid::from_raw)
            .collect()
    }

    /// What the run's session says of itself.
    fn said(&self) -> String {
        for entry in fs::read_dir(self.world.workforce().join("sessions")).into_iter().flatten().flatten() {
            let status = fs::read(entry.path().join("status.json")).unwrap_or_default();
            let status: Value = serde_json::from_slice(&status).unwrap_or_default();
            if status["pid"].as_u64() == Some(u64::from(self.pid)) {
                return status["state"].as_str().unwrap_or_default().to_owned();
            }
        }
        "no session".to_owned()
    }
}

/// The most memory that a process has had so far, in kilobytes.
pub fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

impl Did {
    /// Killed outright, so that it could say nothing.
    pub fn was_killed(&self) -> bool {
        self.status.signal().is_some()
    }

    pub fn line(&self, wish: &Wish) -> String {
        let hurt = match &self.hurt {
            Some((when, said)) => format!("; hurt at {} ms ({said})", when.as_millis()),
            None => String::new(),
        };
        let apply = self.report.as_ref().map_or("no report", |report| {
            report["apply"]["status"].as_str().unwrap_or("a report without an apply")
        });
        format!("{wish}{hurt}; {} after {} ms, {apply}", self.status, self.took.as_millis())
    }
}
