//! Shows what an agent does as short lines: what it says, which tools it used and how long they took, what went wrong. The live view
//! of a run, the lines of a run without a terminal and the transcript of a session share it. Writes nothing and has no clock.

use super::text::{display_width, fitted, shortened, wrapped};
use super::{BOLD, DIM, ERROR};
use crate::model::amounts::{self, counted};
use crate::model::event::Event;
use crate::model::printable::printable;
use crate::model::report::Usage;

/// How much of each step is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One line for each.
    Line,
    /// A few lines of what the agent says.
    Brief,
    /// All that it says, and the beginning of what its tools answered.
    Whole,
}

/// Lines of a text in a brief view.
const MOST_LINES: usize = 6;
/// Lines of what a tool answered in a whole view.
const MOST_OUTPUT: usize = 12;
/// Columns of a line where no terminal says how many there are.
const USUAL: usize = 160;
/// Minimum columns of a tool and its subject, where what follows is long.
const FEWEST: usize = 20;
/// Characters considered for a one-line text.
const MOST_KEPT: usize = 2000;

/// Turns events into lines. It knows which tools are at work and what has been used so far.
#[derive(Debug)]
pub struct Steps {
    detail: Detail,
    /// What the agent said last is shown only if something follows: its final text is shown by others.
    holds_last: bool,
    held: Option<String>,
    /// Directories that paths are shown relative to, each with a slash at its end.
    roots: Vec<String>,
    working: Vec<Working>,
    saying: String,
    usage: Usage,
}

/// A tool at work.
#[derive(Debug)]
struct Working {
    id: String,
    /// Its name and what it works on.
    what: String,
    /// It was shown before its end.
    is_announced: bool,
}

impl Steps {
    pub fn new(detail: Detail) -> Steps {
        Steps {
            detail,
            holds_last: false,
            held: None,
            roots: Vec::new(),
            working: Vec::new(),
            saying: "starting".to_owned(),
            usage: Usage::default(),
        }
    }

    /// The final text is left out.
    #[must_use]
    pub fn without_result(self) -> Steps {
        Steps { holds_last: true, ..self }
    }

    /// Paths below this directory are shown without it.
    pub fn relative_to(&mut self, root: &str) {
        let root = format!("{}/", root.trim_end_matches('/'));
        if root.len() > 1 && !self.roots.contains(&root) {
            self.roots.push(root);
        }
    }

    /// All that was used so far.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What the agent does now, on one line.
    pub fn doing(&self) -> &str {
        self.working.last().map_or(&self.saying, |working| &working.what)
    }

    /// The lines of the next step, for a terminal of this many columns or for none.
    pub fn take(&mut self, event: &Event, columns: Option<usize>) -> Vec<String> {
        let mut lines = Vec::new();
        match event {
            Event::Usage(usage) => {
                self.usage = usage.clone();
                return lines;
            }
            Event::Raw { .. } => return lines,
            Event::Ended { result, .. } => {
                let is_result =
                    |held: &String| result.as_ref().is_some_and(|result| result.contains(held.as_str()));
                if !self.held.as_ref().is_some_and(is_result) {
                    lines.extend(self.held_lines(columns));
                }
                self.held = None;
            }
            _ => lines.extend(self.held_lines(columns)),
        }
        lines.extend(self.lines(event, columns));
        lines
    }

    /// What is left at the end: tools that never finished.
    pub fn rest(&mut self, columns: Option<usize>) -> Vec<String> {
        let mut lines = self.held_lines(columns);
        for working in std::mem::take(&mut self.working) {
            lines.push(tool_line(
                &working.what,
                "  not finished",
                columns.filter(|_| self.detail != Detail::Whole),
            ));
        }
        lines
    }

    /// The tools at work that were not shown yet.
    pub fn running(&mut self) -> Vec<String> {
        let new = self.working.iter_mut().filter(|working| !working.is_announced);
        new.map(|working| {
            working.is_announced = true;
            tool_line(&working.what, "  running", None)
        })
        .collect()
    }

    fn held_lines(&mut self, columns: Option<usize>) -> Vec<String> {
        self.held.take().map(|text| self.text("• ", &text, columns)).unwrap_or_default()
    }

    fn lines(&mut self, event: &Event, columns: Option<usize>) -> Vec<String> {
        match event {
            Event::SessionStarted { .. } => {
                "thinking".clone_into(&mut self.saying);
                Vec::new()
            }
            Event::Task { text } => self
                .text("> ", text, columns)
                .into_iter()
                .map(|line| format!("{BOLD}{line}{BOLD:#}"))
                .collect(),
            Event::Message { text } => {
                self.saying = one_line(text);
                if self.holds_last {
                    self.held = Some(text.clone());
                    return Vec::new();
                }
                self.text("• ", text, columns)
            }
            Event::ToolStarted { id, name, subject } => {
                let what =
                    subject.as_ref().map_or_else(|| name.clone(), |subject| format!("{name} {subject}"));
                let what = self.one_line(&what);
                self.working.push(Working { id: id.clone(), what, is_announced: false });
                Vec::new()
            }
            Event::ToolFinished { id, name, ok, output, seconds } => {
                let begun = self.working.iter().position(|working| working.id == *id);
                let what = match begun {
                    Some(at) => self.working.remove(at).what,
                    None => self.one_line(name),
                };
                "thinking".clone_into(&mut self.saying);
                self.tool(&what, *ok, output.as_deref(), *seconds, columns)
            }
            Event::Error { message } => {
                let message = self.one_line(message);
                let message = match self.detail {
                    Detail::Whole => message,
                    _ => fitted(&message, columns.unwrap_or(USUAL).saturating_sub(9)),
                };
                vec![format!("  {ERROR}error:{ERROR:#} {message}")]
            }
            Event::Ended { .. } | Event::Usage(_) | Event::Raw { .. } => Vec::new(),
        }
    }

    /// A text behind a mark, as much of it as is wanted.
    fn text(&self, mark: &str, text: &str, columns: Option<usize>) -> Vec<String> {
        let text = printable(text).replace('\t', "    ");
        let room = columns.unwrap_or(USUAL).saturating_sub(2);
        let lines: Vec<String> = match self.detail {
            Detail::Line => vec![fitted(&shortened(&text, MOST_KEPT), room)],
            Detail::Brief => {
                let text: String = text.chars().take(MOST_KEPT).collect();
                let mut lines = wrapped(text.trim_end(), room);
                if lines.len() > MOST_LINES {
                    lines.truncate(MOST_LINES - 1);
                    lines.push("…".to_owned());
                }
                lines
            }
            Detail::Whole => text.trim_end().lines().map(str::to_owned).collect(),
        };
        let marks = std::iter::once(mark).chain(std::iter::repeat(if mark == "> " { "> " } else { "  " }));
        lines.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}").trim_end().to_owned()).collect()
    }

    fn tool(
        &self,
        what: &str,
        ok: bool,
        output: Option<&str>,
        seconds: Option<f64>,
        columns: Option<usize>,
    ) -> Vec<String> {
        let output = output.map(|output| self.short_paths(&printable(output)).replace('\t', "    "));
        let mut tail = seconds.and_then(took).map(|took| format!("  {took}")).unwrap_or_default();
        if !ok {
            tail.push_str("  failed");
        }
        if self.detail != Detail::Whole {
            let first =
                output.as_ref().and_then(|output| output.lines().find(|line| !line.trim().is_empty()));
            if let Some(first) = first.filter(|_| !ok) {
                tail.push_str(&format!(": {}", shortened(first, 200)));
            }
            return vec![tool_line(what, &tail, Some(columns.unwrap_or(USUAL)))];
        }
        let mut lines = vec![tool_line(what, &tail, None)];
        let output: Vec<&str> = output.as_deref().unwrap_or_default().trim_end().lines().collect();
        // One line more takes no more room than saying that it is left out.
        let shown =
            if output.len() == MOST_OUTPUT + 1 { output.len() } else { output.len().min(MOST_OUTPUT) };
        lines.extend(output[..shown].iter().map(|line| format!("    {DIM}{line}{DIM:#}")));
        if output.len() > shown {
            lines.push(format!("    {DIM}… {} more lines{DIM:#}", output.len() - shown));
        }
        lines
    }

    fn one_line(&self, text: &str) -> String {
        self.short_paths(&one_line(text))
    }

    fn short_paths(&self, text: &str) -> String {
        self.roots.iter().fold(text.to_owned(), |text, root| without_root(&text, root))
    }
}

fn one_line(text: &str) -> String {
    let text: String = text.chars().take(MOST_KEPT).collect();
    printable(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without a directory in front of its paths. What only ends in the same words is another path, or a URL.
fn without_root(text: &str, root: &str) -> String {
    let begins_path = |before: char| {
        before.is_whitespace()
            || matches!(before, '"' | '\'' | '`' | '(' | '[' | '{' | '<' | '=' | ',' | ':' | ';' | '|' | '>')
    };
    let (mut short, mut rest) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(root) {
        if text[..at].chars().next_back().is_none_or(begins_path) {
            short.push_str(&text[rest..at]);
            rest = at + root.len();
        }
    }
    short.push_str(&text[rest..]);
    short
}

/// What a tool did and how that went. What it worked on gives way, but not all of it.
fn tool_line(what: &str, tail: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return format!("  {what}{DIM}{tail}{DIM:#}") };
    let room = columns.saturating_sub(2);
    let tail = fitted(tail, room.saturating_sub(FEWEST.min(display_width(what))));
    let what = fitted(what, room.saturating_sub(display_width(&tail)));
    format!("  {what}{DIM}{tail}{DIM:#}")
}

/// A time that is worth saying.
fn took(seconds: f64) -> Option<String> {
    (seconds >= 1.0).then(|| amounts::seconds(seconds))
}

/// What was used, in a few words each.
pub fn usage_parts(usage: &Usage) -> Vec<String> {
    let turns = usage.turns.filter(|turns| *turns > 0).map(|turns| counted(turns, "turn"));
    let cost = usage.cost_usd.filter(|cost| *cost > 0.0).map(amounts::dollars);
    turns.into_iter().chain(cost).collect()
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
