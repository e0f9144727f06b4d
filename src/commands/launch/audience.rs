//! Who hears a headless run: the session's record, the event stream on stdout, and a line of progress on a terminal.

use super::conversation::Noted;
use crate::launch::headless::Audience;
use crate::launch::record::{CappedLog, EVENTS_FILE, EventLog, LOG_FILE};
use crate::model::event::Event;
use crate::model::printable::printable;
use crate::model::secrets::{Redactor, Scanner, Secrets};
use crate::session::Session;
use crate::ui::Ui;
use std::time::{Duration, Instant};

/// How often the line of progress is drawn anew.
const REDRAW: Duration = Duration::from_secs(1);

pub struct Told<'a> {
    session: &'a Session,
    ui: &'a mut Ui,
    events: EventLog,
    log: CappedLog,
    noted: Noted,
    stream: bool,
    progress: Option<Progress<'a>>,
    secrets: &'a Secrets,
    redactor: Redactor<'a>,
    scanner: Scanner<'a>,
}

/// What the line of progress shows.
pub struct Progress<'a> {
    began: Instant,
    drawn: Option<Instant>,
    doing: String,
    /// How many files are changed so far.
    changed: &'a dyn Fn() -> Option<usize>,
}

impl<'a> Progress<'a> {
    pub fn new(changed: &'a dyn Fn() -> Option<usize>) -> Progress<'a> {
        Progress { began: Instant::now(), drawn: None, doing: "starting".into(), changed }
    }

    fn note(&mut self, event: &Event) {
        let doing = match event {
            Event::SessionStarted { .. } | Event::ToolFinished { .. } => "thinking".to_owned(),
            Event::Message { text } => text.lines().next().unwrap_or_default().to_owned(),
            Event::ToolStarted { name, subject, .. } => match subject {
                Some(subject) => format!("{name} {subject}"),
                None => name.clone(),
            },
            Event::Error { message } => format!("error: {message}"),
            Event::Usage(_) | Event::Ended { .. } | Event::Raw { .. } => return,
        };
        self.doing = crate::ui::text::shortened(&printable(&doing), 60);
        self.drawn = None;
    }

    fn draw(&mut self, ui: &mut Ui) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        let seconds = self.began.elapsed().as_secs();
        let changed = match (self.changed)() {
            Some(1) => "  1 file changed".to_owned(),
            Some(count) if count > 0 => format!("  {count} files changed"),
            _ => String::new(),
        };
        ui.progress(&format!("{:>2}:{:02}  {}{changed}", seconds / 60, seconds % 60, self.doing));
    }
}

impl<'a> Told<'a> {
    pub fn new(
        session: &'a Session,
        noted: Noted,
        stream: bool,
        progress: Option<Progress<'a>>,
        secrets: &'a Secrets,
        ui: &'a mut Ui,
    ) -> std::io::Result<Told<'a>> {
        let events = EventLog::append(&session.dir.join(EVENTS_FILE))?;
        let log = CappedLog::create(&session.dir.join(LOG_FILE))?;
        let (redactor, scanner) = (secrets.redactor(), secrets.scanner());
        Ok(Told { session, ui, events, log, noted, stream, progress, secrets, redactor, scanner })
    }

    /// Ends the records. The names of the variables whose values were in what the harness wrote.
    pub fn finish(mut self) -> Vec<String> {
        self.events.flush();
        self.log.write(&self.redactor.finish());
        self.log.finish();
        if self.progress.is_some() {
            self.ui.end_progress();
        }
        self.scanner.found()
    }
}

impl Audience for Told<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::SessionStarted { harness_session_id, .. } = event {
            // Now and not at the end: a runner that is killed leaves a conversation that can go on.
            self.noted.session_id = Some(harness_session_id.clone());
            let _ = self.noted.write(self.session);
        }
        let line =
            self.secrets.redact(&serde_json::to_string(event).expect("our own events always serialise"));
        self.events.write(&line);
        if self.stream {
            self.ui.json_line(&line);
        }
        if let Some(progress) = &mut self.progress {
            progress.note(event);
        }
    }

    fn output(&mut self, bytes: &[u8]) {
        self.scanner.write(bytes);
        self.log.write(&self.redactor.write(bytes));
    }

    fn tick(&mut self) {
        self.events.flush();
        if let Some(progress) = &mut self.progress {
            progress.draw(self.ui);
        }
    }
}
