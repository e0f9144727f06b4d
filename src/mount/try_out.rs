//! `__mount-try`: the mount by itself, without persona, session record or review, with switches that no user has. It is how
//! the tests of the mount reach it in a process of its own; a release build does not have it.

use super::{ChildCommand, InjectedFile, OpenRequest, catch_runner_signals, open, probe, root};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::{Backend, Effect, MountSpec, PathRule, RuleSource, Sandbox};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What these arguments ask for, if it is one of the two things that this file does.
pub fn run_if_asked(host: &Host, args: &[OsString], say: &mut dyn FnMut(&str)) -> Option<Result<Exit>> {
    match args.get(1)?.to_str()? {
        "__mount-try" => Some(run(host, &args[2..], say)),
        // Removes a session directory that was tried out.
        "__mount-try-remove" => {
            let removed = super::fs::cleanup::remove_tree(args.get(2)?.as_ref());
            Some(removed.map(|()| Exit::Done).map_err(CommandError::from))
        }
        _ => None,
    }
}

/// `--root DIR --backend B --sandbox S --hide PATTERN --plant PATH=TEXT --include PATTERN --expose NAME=TEXT --writable DIR
/// --subreaper --open-only --prompt -- CMD...`; the record stays in the session directory that is named on stderr.
fn run(host: &Host, args: &[OsString], say: &mut dyn FnMut(&str)) -> Result<Exit> {
    let state = host.workforce_home()?;
    let sessions = state.join("sessions");
    let session_dir = sessions.join(format!("try-{}", host.random_hex(8)?));
    fs::create_dir_all(&session_dir)?;
    let (mut wanted, mut injected, mut expose, mut writable) = (None, Vec::new(), Vec::new(), Vec::new());
    let (mut subreaper, mut open_only, mut prompt) = (false, false, false);
    let mut spec = MountSpec {
        root: PathBuf::new(),
        cwd: PathBuf::new(),
        backend: Backend::Auto,
        sandbox: None,
        rules: Vec::new(),
        include: Vec::new(),
        writable: Vec::new(),
    };
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        if flag == "--" {
            break;
        }
        if flag == "--subreaper" {
            subreaper = true;
            continue;
        }
        if flag == "--prompt" {
            prompt = true;
            continue;
        }
        if flag == "--open-only" {
            open_only = true;
            continue;
        }
        let value = rest
            .next()
            .and_then(|value| value.to_str())
            .ok_or_else(|| CommandError::usage("a flag has no value"))?;
        let pair = || value.split_once('=').ok_or_else(|| CommandError::usage("not NAME=TEXT"));
        match flag.to_str() {
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
    let helper = Path::new("/proc/self/exe");
    let mut facts = probe::facts(helper, &state, &spec.root)?;
    if subreaper {
        facts.host.pid_namespace = false;
    }
    let lock = fs::File::create(session_dir.join("lock"))?;
    lock.lock()?;
    let mut signals = catch_runner_signals()?;
    let mount = open(&OpenRequest {
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
        crash_points: &super::CrashPoints::none(),
    })?;
    say(&format!("session {}", session_dir.display()));
    if open_only {
        return Ok(Exit::Done);
    }
    let command = ChildCommand { argv: rest.cloned().collect(), env: Vec::new() };
    let outcome = mount.run(&command, super::ChildStdio::inherited(), &mut signals, None)?;
    say(&format!("outcome {outcome:?}"));
    if prompt {
        // As the review of the changes will: a runner in the background would be stopped here.
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        say(&format!("answered {answer}"));
    }
    Ok(outcome.exit())
}
