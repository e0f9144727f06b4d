//! What test runners print: their summary, read from a stream in bounded memory, and the lines that say what went wrong. Runs nothing.

mod command;
mod go;
mod javascript;
mod lines;
mod messages;
mod names;
mod other;
mod python;
mod rust;
mod tap;
#[cfg(test)]
mod tests;

use super::evidence::TestSummary;
pub use command::{runner_of_command, runner_prints_summary};
use lines::LineSplitter;
pub use messages::{error_lines, first_error_line, normalised};
use std::fmt;

/// Recognises one family of runners, line by line.
trait Parser {
    /// `line` has neither colours nor control characters, and at most [`lines::LONGEST_LINE`] bytes.
    fn line(&mut self, line: &str);
    /// None if nothing was seen that only this runner prints.
    fn finish(self: Box<Self>) -> Option<TestSummary>;
}

/// Reads the output of a command as it comes and finds what test runners say in it. Keeps no output.
pub struct SummaryReader {
    splitter: LineSplitter,
    parsers: Vec<Box<dyn Parser + Send>>,
}

impl Default for SummaryReader {
    fn default() -> SummaryReader {
        SummaryReader::new()
    }
}

impl fmt::Debug for SummaryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryReader").finish_non_exhaustive()
    }
}

impl SummaryReader {
    pub fn new() -> SummaryReader {
        let parsers: Vec<Box<dyn Parser + Send>> = vec![
            Box::<rust::Libtest>::default(),
            Box::<rust::Nextest>::default(),
            Box::<python::Pytest>::default(),
            Box::<python::Unittest>::default(),
            Box::<tap::Tap>::default(),
            Box::<javascript::Jest>::default(),
            Box::<javascript::Vitest>::default(),
            Box::<javascript::Mocha>::default(),
            Box::<go::Go>::default(),
            Box::<other::Ruby>::default(),
            Box::<other::PhpUnit>::default(),
            Box::<other::Surefire>::default(),
            Box::<other::Ctest>::default(),
            Box::<other::Prove>::default(),
        ];
        SummaryReader { splitter: LineSplitter::default(), parsers }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let parsers = &mut self.parsers;
        self.splitter.feed(bytes, &mut |line| parsers.iter_mut().for_each(|parser| parser.line(line)));
    }

    /// Several runners in one output add up; the answer is complete if each of them came to its end.
    pub fn finish(mut self) -> Option<TestSummary> {
        let parsers = &mut self.parsers;
        self.splitter.finish(&mut |line| parsers.iter_mut().for_each(|parser| parser.line(line)));
        let found: Vec<TestSummary> = self.parsers.into_iter().filter_map(Parser::finish).collect();
        found.into_iter().reduce(merged)
    }
}

fn merged(mut one: TestSummary, other: TestSummary) -> TestSummary {
    one.runner = format!("{} + {}", one.runner, other.runner);
    one.passed = one.passed.saturating_add(other.passed);
    one.failed = one.failed.saturating_add(other.failed);
    one.skipped = one.skipped.saturating_add(other.skipped);
    for (name, outcome) in other.tests {
        let entry = one.tests.entry(name).or_insert(outcome);
        *entry = (*entry).max(outcome);
    }
    for (file, count) in other.files {
        let entry = one.files.entry(file).or_default();
        *entry = entry.saturating_add(count);
    }
    one.is_complete &= other.is_complete;
    one
}
