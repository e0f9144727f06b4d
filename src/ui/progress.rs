//! The progress line of a headless run on a terminal: time, what the agent does, how many files it has changed.

use super::Ui;
use super::text::shortened;
use crate::model::event::Event;
use crate::model::printable::printable;
use std::time::{Duration, Instant};

/// How often the line is drawn again.
const REDRAW: Duration = Duration::from_secs(1);

/// The progress line.
pub struct Progress {
    began: Instant,
    drawn: Option<Instant>,
    is_shown: bool,
    doing: String,
}

impl Progress {
    /// A line whose clock starts now.
    pub fn start() -> Progress {
        Progress { began: Instant::now(), drawn: None, is_shown: false, doing: "starting".into() }
    }

    /// Takes note of what the agent does now.
    pub fn note(&mut self, event: &Event) {
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
        self.doing = shortened(&printable(&doing), 60);
        self.drawn = None;
    }

    /// Draws the line, if it is time to.
    pub fn draw(&mut self, changed_files: &dyn Fn() -> Option<usize>, ui: &mut Ui) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        self.is_shown = true;
        let seconds = self.began.elapsed().as_secs();
        let changed = match changed_files() {
            Some(1) => "  1 file changed".to_owned(),
            Some(count) if count > 0 => format!("  {count} files changed"),
            _ => String::new(),
        };
        ui.progress(&format!("{:>2}:{:02}  {}{changed}", seconds / 60, seconds % 60, self.doing));
    }

    /// Whether there is a line on the terminal to take away.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }
}
