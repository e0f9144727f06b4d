//! The mount by itself as a program: without persona, session record or review, with switches that no user has. It is this test
//! binary, started again by a script, because a runner needs a process of its own.

use crate::support::mount::{BINARY, default_spec};
use agentworkforce::error::{CommandError, Result};
use agentworkforce::exit::Exit;
use agentworkforce::host::Host;
use agentworkforce::model::limits::Limits;
use agentworkforce::model::mount::{Effect, PathRule, RuleSource, Sandbox};
use agentworkforce::mount::fs::cleanup;
use agentworkforce::mount::process::cgroup::OwnGroup;
use agentworkforce::mount::{
    ChildCommand, ChildStdio, CrashPoints, InjectedFile, OpenRequest, catch_runner_signals, open, probe, root,
};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The arguments, a line each: the test harness would take them for its own.
const ARGUMENTS: &str = "AW_MOUNT_PROGRAM";
/// What the test harness prints before the program runs.
pub(crate) const PREAMBLE: &str = "\nrunning 1 test\n";

/// Writes the script that starts the program.
pub(crate) fn install(script: &Path) {
    let exe = std::env::current_exe().unwrap();
    let text = format!(
        "#!/bin/sh\n{ARGUMENTS}=$(for word in \"$@\"; do printf '%s' \"$word\" | od -An -v -tx1 | tr -d ' \\n'; echo; done)\n\
         export {ARGUMENTS}\n\
         exec '{}' --exact mount_program::program --ignored --nocapture -q\n",
        exe.display()
    );
    fs::write(script, text).unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[ignore = "a program that other tests start"]
fn program() {
    let host = Host::of_this_process().unwrap();
    let lines = std::env::var(ARGUMENTS).expect("the script gives the arguments");
    let args: Vec<OsString> = lines.lines().map(decoded).collect();
    let exit = run(&host, &args).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        error.causes.iter().for_each(|cause| eprintln!("  caused by: {cause}"));
        error.hints.iter().for_each(|hint| eprintln!("hint: {hint}"));
        error.exit
    });
    std::process::exit(exit.code().into());
}

fn decoded(hex: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits a byte");
    OsString::from_vec((0..hex.len()).step_by(2).map(byte).collect())
}

/// `--root DIR --backend B --sandbox S --hide PATTERN --plant PATH=TEXT --include PATTERN --expose NAME=TEXT --writable DIR
/// --subreaper --control-group --nested-sandbox --prompt --remove DIR -- CMD...`; the record stays in the session directory that is named on stderr.
fn run(host: &Host, args: &[OsString]) -> Result<Exit> {
    let state = host.workforce_home()?;
    let sessions = state.join("sessions");
    let session_dir = sessions.join(format!("try-{}", host.random_hex(8)?));
    fs::create_dir_all(&session_dir)?;
    let (mut wanted, mut injected, mut expose, mut writable) = (None, Vec::new(), Vec::new(), Vec::new());
    let (mut subreaper, mut control_group, mut prompt) = (false, false, false);
    let mut spec = default_spec(PathBuf::new());
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        if flag == "--" {
            break;
        }
        if flag == "--subreaper" {
            subreaper = true;
            continue;
        }
        if flag == "--control-group" {
            control_group = true;
            continue;
        }
        if flag == "--nested-sandbox" {
            spec.nested_sandbox = true;
            continue;
        }
        if flag == "--prompt" {
            prompt = true;
            continue;
        }
        let value = rest
            .next()
            .and_then(|value| value.to_str())
            .ok_or_else(|| CommandError::usage("a flag has no value"))?;
        let pair = || value.split_once('=').ok_or_else(|| CommandError::usage("not NAME=TEXT"));
        match flag.to_str() {
            // Removes a session directory that was made here.
            Some("--remove") => {
                cleanup::remove_tree(value.as_ref())?;
                return Ok(Exit::Done);
            }
            Some("--root") => wanted = Some(PathBuf::from(value)),
            Some("--backend") => {
                spec.backend = serde_json::from_value(value.into()).map_err(CommandError::usage)?;
            }
            Some("--sandbox") => {
                spec.sandbox =
                    Some(serde_json::from_value::<Sandbox>(value.into()).map_err(CommandError::usage)?);
            }
            Some("--hide") => spec.rules.push(PathRule {
                pattern: value.into(),
                effect: Effect::Hidden,
                source: RuleSource::Config,
                origin: "--hide".into(),
            }),
            Some("--plant") => {
                let (path, text) = pair()?;
                injected.push(InjectedFile { path: path.into(), bytes: text.into(), mode: 0o644 });
            }
            Some("--expose") => {
                let (name, text) = pair()?;
                let path = session_dir.join("generated").join(name);
                fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
                fs::write(&path, text)?;
                expose.push(path);
            }
            Some("--writable") => writable.push(value.into()),
            Some("--include") => spec.include.push(value.into()),
            _ => return Err(CommandError::usage(format!("`{}` is not a flag", flag.display()))),
        }
    }
    let home = host.home_dir();
    let around = root::Surroundings { cwd: &host.cwd, home: home.as_deref(), state: &state };
    let chosen = root::find(around, wanted.as_deref(), None)?;
    root::refuse(&chosen.root, around)?;
    (spec.root, spec.cwd) = (chosen.root, chosen.cwd);
    let helper = Path::new(BINARY);
    let mut facts = probe::facts(helper, &state, &spec.root)?;
    if subreaper {
        facts.host.pid_namespace = false;
    }
    let lock = fs::File::create(session_dir.join("lock"))?;
    lock.lock()?;
    let mut signals = catch_runner_signals()?;
    let mut mount = open(&OpenRequest {
        spec: &spec,
        facts: &facts,
        helper,
        sessions_dir: &sessions,
        session_dir: &session_dir,
        injected: &injected,
        expose: &expose,
        lend: &[],
        writable: &writable,
        signals: Some(&signals),
        lock: Some(&lock),
        crash_points: &CrashPoints::none(),
    })?;
    eprintln!("session {}", session_dir.display());
    if control_group {
        // One without limits needs no controller.
        let own = OwnGroup::of_this_process().map_err(CommandError::usage)?;
        mount.confine(own.limited("agentworkforce-test", Limits::default())?);
    }
    let command = ChildCommand { argv: rest.cloned().collect(), env: Vec::new(), ends_at: None };
    let outcome = mount.run(&command, ChildStdio::inherited()?, &mut signals, None)?;
    eprintln!("outcome {outcome:?}");
    if prompt {
        // As the review of the changes will: a runner in the background would be stopped here.
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        eprintln!("answered {answer}");
    }
    Ok(outcome.exit())
}
