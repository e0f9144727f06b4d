//! Records what a headless harness does, in the session, and passes it on to the observer. Nothing leaves it with the value of
//! a secret.

use super::conversation::ConversationNote;
use super::observer::{Live, Observer, RunEvent};
use super::records::is_plain;
use crate::host::Host;
use crate::launch::headless::Audience;
use crate::launch::record::{CappedLog, EVENTS_FILE, EventLog, LOG_FILE};
use crate::model::event::{Event, RecordedEvent, shortened_output};
use crate::model::secrets::{Redactor, Scanner, Secrets};
use crate::session::Session;
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

pub struct Recorder<'a> {
    session: &'a Session,
    host: &'a Host,
    observer: &'a mut dyn Observer,
    live: Live<'a>,
    /// When the tools that are at work began.
    running_tools: HashMap<String, Instant>,
    events: EventLog,
    log: CappedLog,
    note: ConversationNote,
    /// Whether the harness has said which conversation it has. What comes later may be an agent's: it can write to where the
    /// harness writes.
    is_noted: bool,
    secrets: &'a Secrets,
    redactor: Redactor<'a>,
    scanner: Scanner<'a>,
}

/// What a recording comes to.
pub struct Recorded {
    pub note: ConversationNote,
    /// Whether the harness has said which conversation it has.
    pub is_noted: bool,
    /// The variables whose values were in what the harness wrote.
    pub leaked: Vec<String>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        session: &'a Session,
        host: &'a Host,
        attempt_dir: &Path,
        note: ConversationNote,
        live: Live<'a>,
        secrets: &'a Secrets,
        observer: &'a mut dyn Observer,
    ) -> std::io::Result<Recorder<'a>> {
        let events = EventLog::append(&attempt_dir.join(EVENTS_FILE))?;
        let log = CappedLog::create(&attempt_dir.join(LOG_FILE))?;
        let (redactor, scanner) = (secrets.redactor(), secrets.scanner());
        Ok(Recorder {
            session,
            host,
            observer,
            live,
            running_tools: HashMap::new(),
            events,
            log,
            note,
            is_noted: false,
            secrets,
            redactor,
            scanner,
        })
    }

    pub fn finish(mut self) -> Recorded {
        self.events.flush();
        self.log.write(&self.redactor.finish());
        self.log.finish();
        Recorded { note: self.note, is_noted: self.is_noted, leaked: self.scanner.found() }
    }
}

impl Recorder<'_> {
    /// Adds how long a tool took, where the harness does not say, and shortens what it answered. Half a secret would not be
    /// recognised: this comes after their values are out.
    fn complete(&mut self, event: &mut Event) {
        match event {
            Event::ToolStarted { id, .. } => {
                self.running_tools.insert(id.clone(), Instant::now());
            }
            Event::ToolFinished { id, output, seconds, .. } => {
                let took = self.running_tools.remove(id).map(|began| began.elapsed().as_secs_f64());
                *seconds = seconds.or(took.map(|took| (took * 1000.0).round() / 1000.0));
                *output = output.as_deref().map(shortened_output);
            }
            _ => {}
        }
    }
}

impl Audience for Recorder<'_> {
    fn event(&mut self, event: &Event) {
        if let Event::SessionStarted { harness_session_id, .. } = event
            && !std::mem::replace(&mut self.is_noted, true)
            && is_plain(harness_session_id)
        {
            // Now and not at the end: a runner that is killed leaves a conversation that can be continued.
            self.note.session_id = Some(harness_session_id.clone());
            self.note.nothing_said = false;
            let _ = self.note.write(self.session);
        }
        let mut value = serde_json::to_value(event).expect("our own events always serialise");
        self.secrets.redact_json(&mut value);
        let Ok(mut event) = serde_json::from_value(value) else { return };
        self.complete(&mut event);
        let recorded = RecordedEvent { at: Some(self.host.now().to_string()), event };
        self.events.write(&serde_json::to_string(&recorded).expect("our own events always serialise"));
        self.observer.event(&RunEvent::Agent(&recorded.event));
    }

    fn output(&mut self, bytes: &[u8]) {
        self.scanner.write(bytes);
        self.log.write(&self.redactor.write(bytes));
    }

    fn tick(&mut self) {
        self.events.flush();
        self.observer.tick(&self.live);
    }
}
