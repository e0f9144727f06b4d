//! Tells the user that a long run has ended: with the bell of the terminal, or with a command of the user's that runs outside of
//! every mount. It only gets our own words, never an agent's.

use crate::host::terminal::UserTerminal;
use crate::host::{Host, interruption};
use crate::model::amounts;
use crate::model::plan::RunPlan;
use crate::model::report::Status;
use crate::model::settings::{Notify, Settings};
use crate::session::SessionState;
use crate::tool::{self, Bounds, at_terminal};
use crate::ui::{Ui, printable};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The user has probably watched a shorter run.
const USUAL_SECONDS: f64 = 60.0;
/// How long the command may take.
const LONGEST: Duration = Duration::from_secs(10);
/// Of what it prints, nothing is shown.
const MOST_OUTPUT: u64 = 1 << 20;

/// How the user wants to be told.
#[derive(Debug)]
pub struct Notifier {
    how: Notify,
    after: Duration,
}

/// What there is to tell.
#[derive(Debug, Default)]
pub struct Notice {
    session: String,
    persona: String,
    tier: String,
    root: PathBuf,
    pub outcome: Option<Status>,
    /// `None` while the user is to decide.
    pub changes: Option<SessionState>,
    pub took: Duration,
}

impl Notifier {
    /// `None` if notifications are off.
    pub fn of(settings: &Settings) -> Option<Notifier> {
        let seconds = settings.notify_after_seconds.unwrap_or(USUAL_SECONDS);
        let how = settings.notify.clone().filter(|how| *how != Notify::Off)?;
        Some(Notifier { how, after: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) })
    }

    /// Tells it, if the run was long enough. That the user cannot be told is a warning, and no failure of the run.
    pub fn tell(self, notice: &Notice, host: &Host, ui: &mut Ui) {
        // What failed before there was a session has told so already.
        if notice.took < self.after || notice.session.is_empty() {
            return;
        }
        match &self.how {
            Notify::Off => {}
            Notify::Bell if host.stderr_is_terminal => ui.bell(),
            Notify::Bell => ring_elsewhere(),
            Notify::Command(words) => {
                if let Err(problem) = run(words, notice, host) {
                    ui.warning(printable(&format!("the command of `notify` failed: {problem}")));
                    ui.hint("`agentworkforce config get notify` shows it");
                }
            }
        }
    }
}

/// Rings at the user's terminal although messages go somewhere else.
fn ring_elsewhere() {
    if let Some(mut terminal) = UserTerminal::open().and_then(|terminal| terminal.output().ok()) {
        let _ = terminal.write_all(b"\x07");
    }
}

impl Notice {
    /// What is known from the start.
    pub fn opened(&mut self, session: &str, plan: &RunPlan) {
        session.clone_into(&mut self.session);
        plan.mount.root.clone_into(&mut self.root);
        if let Some(agent) = plan.agent() {
            agent.persona.id.clone_into(&mut self.persona);
            self.tier = agent.persona.tier.to_string();
        }
    }

    fn variables(&self) -> [(&'static str, OsString); 8] {
        let outcome = self.outcome.unwrap_or(Status::Failed);
        let changes = self.changes.map_or("undecided", SessionState::name);
        let message =
            format!("{}: {} in {}", self.persona, outcome.words(), amounts::seconds(self.took.as_secs_f64()));
        [
            ("AGENTWORKFORCE_SESSION", self.session.clone().into()),
            ("AGENTWORKFORCE_PERSONA", self.persona.clone().into()),
            ("AGENTWORKFORCE_TIER", self.tier.clone().into()),
            ("AGENTWORKFORCE_PROJECT", self.root.clone().into()),
            ("AGENTWORKFORCE_OUTCOME", outcome.name().into()),
            ("AGENTWORKFORCE_CHANGES", changes.into()),
            ("AGENTWORKFORCE_SECONDS", self.took.as_secs().to_string().into()),
            ("AGENTWORKFORCE_MESSAGE", message.into()),
        ]
    }
}

fn run(words: &[String], notice: &Notice, host: &Host) -> Result<(), String> {
    let name = words.first().map_or("", String::as_str);
    let Some(mut command) = at_terminal::command_of_words(host, words) else {
        return Err(format!("there is no program `{name}` in `PATH` outside of the project"));
    };
    // A project is no place for it: its files may be an agent's.
    command
        .current_dir(host.home_dir().filter(|home| home.is_dir()).unwrap_or_else(|| Path::new("/").into()));
    command.envs(notice.variables());
    let stop = || interruption::signal().is_some();
    let bounds = Bounds { time: LONGEST, output: MOST_OUTPUT, stop: &stop };
    let finished = tool::run(&mut command, None, bounds).map_err(|error| error.to_string())?;
    if finished.status.success() {
        return Ok(());
    }
    let last = finished.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("`{name}`: {} {last}", finished.status).trim_end().to_owned())
}
