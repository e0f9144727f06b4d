//! The progress line of a headless run on a terminal: time, what the agent does, how many files it has changed.

use super::Ui;
use super::text::{display_width, fitted};
use crate::model::event::Event;
use crate::model::printable::printable;
use std::time::{Duration, Instant};

/// How often the line is drawn again.
const REDRAW: Duration = Duration::from_secs(1);

/// Letters of what the agent does.
const MOST_KEPT: usize = 500;
/// Columns that it has, where the number of changed files is behind it.
const FEWEST_COLUMNS: usize = 12;

/// The progress line.
pub struct Progress {
    began: Instant,
    drawn: Option<Instant>,
    /// Of the terminal, when the line was drawn.
    columns: usize,
    is_shown: bool,
    doing: String,
}

impl Progress {
    /// A line whose clock starts now.
    pub fn start() -> Progress {
        Progress { began: Instant::now(), drawn: None, columns: 0, is_shown: false, doing: "starting".into() }
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
        // No more than a line of the widest terminal, of what may be a whole file.
        let doing: String = printable(&doing).chars().take(MOST_KEPT).collect();
        self.doing = doing.split_whitespace().collect::<Vec<_>>().join(" ");
        self.drawn = None;
    }

    /// Draws the line, if it is time to.
    pub fn draw(&mut self, changed_files: &dyn Fn() -> Option<usize>, ui: &mut Ui) {
        let columns = ui.columns();
        if columns == self.columns && self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.columns = columns;
        self.drawn = Some(Instant::now());
        self.is_shown = true;
        let seconds = self.began.elapsed().as_secs();
        let changed = match changed_files() {
            Some(1) => "  1 file changed".to_owned(),
            Some(count) if count > 0 => format!("  {count} files changed"),
            _ => String::new(),
        };
        let time = format!("{:>2}:{:02}", seconds / 60, seconds % 60);
        ui.progress(&line(&time, &self.doing, &changed, columns));
    }

    /// Whether there is a line on the terminal to take away.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }
}

/// The line in this many columns. What is said at length gives way; the numbers are what changes.
fn line(time: &str, doing: &str, changed: &str, columns: usize) -> String {
    let others = display_width(time) + 2 + display_width(changed);
    match columns.checked_sub(others) {
        Some(rest) if rest >= FEWEST_COLUMNS => format!("{time}  {}{changed}", fitted(doing, rest)),
        _ => fitted(&format!("{time}  {doing}"), columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_never_reaches_the_next_one() {
        let doing =
            "Bash sleep 4; echo this is quite a long command line that is longer than a terminal is wide";
        assert_eq!(line(" 0:04", "thinking", "  1 file changed", 79), " 0:04  thinking  1 file changed");
        let cut = line(" 0:04", doing, "  1 file changed", 79);
        assert!(display_width(&cut) == 79 && cut.ends_with("…  1 file changed"), "{cut}");
        for columns in 0..120 {
            assert!(display_width(&line("10:04", doing, "  12 files changed", columns)) <= columns);
        }
    }
}
