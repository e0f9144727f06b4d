//! The status line of a headless run: time, what the agent does, turns, cost, how many files it has changed. On a terminal it is
//! the last line and redrawn; elsewhere it is printed when nothing else has been for a while.

use super::Ui;
use super::steps::{Steps, usage_parts};
use super::text::{display_width, fitted};
use crate::model::amounts::counted;
use std::time::{Duration, Instant};

/// How often the line is drawn again.
const REDRAW: Duration = Duration::from_secs(1);
/// Without a terminal, a run that says nothing for so long says that it is at work: build servers take silence for a hang.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
/// Minimum columns for the activity when numbers follow it.
const FEWEST_COLUMNS: usize = 12;
/// Columns of a line that is in no terminal.
const USUAL_COLUMNS: usize = 160;

/// The clock of the line, and when it was last shown.
pub struct Progress {
    began: Instant,
    /// When the line was drawn or, without a terminal, when something was printed.
    shown: Option<Instant>,
    /// Of the terminal, when the line was drawn.
    columns: usize,
}

impl Progress {
    /// A line whose clock starts now.
    pub fn start() -> Progress {
        Progress { began: Instant::now(), shown: None, columns: 0 }
    }

    /// Something else was printed: a line on the terminal is gone, and elsewhere the silence begins anew.
    pub fn interrupted(&mut self, on_terminal: bool) {
        self.shown = (!on_terminal).then(Instant::now);
    }

    /// Draws the line on the terminal, if it is time to.
    pub fn draw(&mut self, steps: &Steps, changed_files: &dyn Fn() -> Option<usize>, ui: &mut Ui) {
        let columns = ui.columns();
        if columns == self.columns && self.shown.is_some_and(|shown| shown.elapsed() < REDRAW) {
            return;
        }
        self.columns = columns;
        self.shown = Some(Instant::now());
        ui.progress(&self.line(steps, changed_files(), columns));
    }

    /// The line for a log, if nothing was printed for a while.
    pub fn after_silence(
        &mut self,
        steps: &Steps,
        changed_files: &dyn Fn() -> Option<usize>,
    ) -> Option<String> {
        self.after(LONGEST_SILENCE, steps, changed_files)
    }

    fn after(
        &mut self,
        silence: Duration,
        steps: &Steps,
        changed_files: &dyn Fn() -> Option<usize>,
    ) -> Option<String> {
        if self.shown.unwrap_or(self.began).elapsed() < silence {
            return None;
        }
        self.shown = Some(Instant::now());
        Some(self.line(steps, changed_files(), USUAL_COLUMNS))
    }

    fn line(&self, steps: &Steps, changed: Option<usize>, columns: usize) -> String {
        let seconds = self.began.elapsed().as_secs();
        let time = match seconds {
            0..3600 => format!("{:>2}:{:02}", seconds / 60, seconds % 60),
            _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
        };
        let mut numbers = usage_parts(steps.usage());
        numbers.extend(
            changed.filter(|count| *count > 0).map(|count| format!("{} changed", counted(count, "file"))),
        );
        line(&time, steps.doing(), &numbers, columns)
    }
}

/// The line in this many columns. What is said at length gives way first; then numbers, the last one stays longest.
fn line(time: &str, doing: &str, numbers: &[String], columns: usize) -> String {
    for first in 0..=numbers.len() {
        let numbers: String = numbers[first..].iter().map(|number| format!("  {number}")).collect();
        let others = display_width(time) + 2 + display_width(&numbers);
        match columns.checked_sub(others) {
            Some(rest) if rest >= FEWEST_COLUMNS => {
                return format!("{time}  {}{numbers}", fitted(doing, rest));
            }
            _ => {}
        }
    }
    fitted(&format!("{time}  {doing}"), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::steps::Detail;

    #[test]
    fn the_line_never_reaches_the_next_one() {
        let doing =
            "Bash sleep 4; echo this is quite a long command line that is longer than a terminal is wide";
        let numbers = ["12 turns".to_owned(), "$0.25".to_owned(), "1 file changed".to_owned()];
        assert_eq!(
            line(" 0:04", "thinking", &numbers, 79),
            " 0:04  thinking  12 turns  $0.25  1 file changed"
        );
        let cut = line(" 0:04", doing, &numbers, 79);
        assert!(display_width(&cut) == 79 && cut.ends_with("…  12 turns  $0.25  1 file changed"), "{cut}");
        assert_eq!(line(" 0:04", "thinking", &numbers, 36), " 0:04  thinking  1 file changed");
        for columns in 0..120 {
            assert!(display_width(&line("10:04", doing, &numbers, columns)) <= columns);
        }
    }

    #[test]
    fn a_run_in_a_log_speaks_after_a_silence_and_only_then() {
        let steps = Steps::new(Detail::Line);
        let (never, at_once) = (Duration::from_hours(1), Duration::ZERO);
        let mut progress = Progress::start();
        assert_eq!(progress.after(never, &steps, &|| Some(2)), None);
        let line = progress.after(at_once, &steps, &|| Some(2)).unwrap();
        assert_eq!(line, " 0:00  starting  2 files changed");
        assert_eq!(progress.after(never, &steps, &|| Some(2)), None);
    }
}
