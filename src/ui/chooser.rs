//! A list to choose from: what keys do to it, and how it looks. It neither reads nor writes.

use super::keys::Key;
use super::text::{display_width, fitted};
use super::{BOLD, DIM, printable};

/// Longest part of a line that the id may take.
const LONGEST_ID: usize = 28;
const LONGEST_TITLE: usize = 22;

/// Something to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    pub id: String,
    /// Shown beside the id, and also looked at.
    pub title: String,
    pub description: String,
    /// More words that it is found by.
    pub words: String,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Chosen(String),
    /// Nothing.
    Left,
    Interrupted,
}

/// The state of the list.
#[derive(Debug)]
pub struct Chooser {
    choices: Vec<Choice>,
    /// What may follow an `@` after the words: `debugger@best`.
    suffixes: Vec<&'static str>,
    typed: String,
    /// The choices that match what is typed.
    matching: Vec<usize>,
    /// The marked one, and the first that is shown, in `matching`.
    marked: usize,
    first: usize,
}

impl Chooser {
    pub fn new(choices: Vec<Choice>, suffixes: Vec<&'static str>) -> Chooser {
        let matching = (0..choices.len()).collect();
        Chooser { choices, suffixes, typed: String::new(), matching, marked: 0, first: 0 }
    }

    /// What this key decides, if it does. `rows` are those of the screen.
    pub fn press(&mut self, key: Key, rows: usize) -> Option<Decision> {
        let page = list_rows(rows);
        let last = self.matching.len().saturating_sub(1);
        match key {
            Key::Enter => return self.chosen(),
            Key::Escape => return Some(Decision::Left),
            Key::Ctrl('d') if self.typed.is_empty() => return Some(Decision::Left),
            Key::Ctrl('c') => return Some(Decision::Interrupted),
            Key::Up | Key::Ctrl('p') => self.marked = self.marked.saturating_sub(1),
            Key::Down | Key::Ctrl('n') => self.marked = (self.marked + 1).min(last),
            Key::PageUp => self.marked = self.marked.saturating_sub(page),
            Key::PageDown => self.marked = (self.marked + page).min(last),
            Key::Home => self.marked = 0,
            Key::End => self.marked = last,
            Key::Char(c) if !c.is_control() => self.typed(|typed| typed.push(c)),
            Key::Backspace => self.typed(|typed| {
                typed.pop();
            }),
            Key::Ctrl('u') => self.typed(String::clear),
            Key::Ctrl('w') => self.typed(|typed| {
                typed.truncate(typed.trim_end().rfind(' ').map_or(0, |space| space + 1));
            }),
            Key::Char(_) | Key::Ctrl(_) | Key::Other => {}
        }
        None
    }

    fn typed(&mut self, edit: impl FnOnce(&mut String)) {
        edit(&mut self.typed);
        let (words, _) = self.words_and_suffix();
        let words: Vec<String> = words.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let score = |choice: &Choice| words.iter().try_fold(0, |sum, word| Some(sum + rank(choice, word)?));
        let mut scored: Vec<(usize, usize)> = Vec::new();
        for (index, choice) in self.choices.iter().enumerate() {
            scored.extend(score(choice).map(|score| (score, index)));
        }
        scored.sort_unstable();
        self.matching = scored.into_iter().map(|(_, index)| index).collect();
        (self.marked, self.first) = (0, 0);
    }

    fn words_and_suffix(&self) -> (&str, Option<&str>) {
        self.typed.split_once('@').map_or((&self.typed, None), |(words, suffix)| (words, Some(suffix)))
    }

    /// The suffixes that what is typed can become; only one if it is it already.
    fn meant_suffixes(&self, typed: &str) -> Vec<&'static str> {
        let exact = self.suffixes.iter().filter(|suffix| **suffix == typed);
        let exact: Vec<&str> = exact.copied().collect();
        if exact.is_empty() {
            return self.suffixes.iter().filter(|suffix| suffix.starts_with(typed)).copied().collect();
        }
        exact
    }

    fn chosen(&self) -> Option<Decision> {
        let choice = &self.choices[*self.matching.get(self.marked)?];
        let suffix = match self.words_and_suffix().1 {
            None | Some("") => String::new(),
            Some(typed) => match self.meant_suffixes(typed).as_slice() {
                [suffix] => format!("@{suffix}"),
                _ => return None,
            },
        };
        Some(Decision::Chosen(format!("{}{suffix}", choice.id)))
    }

    /// The lines of a screen of this size, none wider than it. The cursor belongs behind the first one.
    pub fn lines(&mut self, rows: usize, columns: usize) -> Vec<String> {
        let shown = list_rows(rows);
        if self.marked < self.first {
            self.first = self.marked;
        }
        self.first = self.first.max((self.marked + 1).saturating_sub(shown));
        // A screen that has grown shows what was above.
        self.first = self.first.min(self.matching.len().saturating_sub(shown));

        let question = fitted(&format!("Persona: {}", printable(&self.typed)), columns.saturating_sub(1));
        let mut lines = vec![format!("{BOLD}{question}{BOLD:#}")];
        let widest = |part: fn(&Choice) -> &str, most: usize| {
            let widths = self.choices.iter().map(|choice| display_width(&printable(part(choice))));
            widths.max().unwrap_or(0).min(most)
        };
        let id_width = widest(|choice| &choice.id, LONGEST_ID);
        let title_width = widest(|choice| &choice.title, LONGEST_TITLE.min(columns / 4));
        for (index, choice) in self.matching.iter().enumerate().skip(self.first).take(shown) {
            let choice = &self.choices[*choice];
            let mark = if index == self.marked { '>' } else { ' ' };
            let start = format!("{mark} {}  ", padded(&choice.id, id_width));
            let title = padded(&choice.title, title_width);
            let rest = format!("{title}  {}", one_line(&choice.description));
            let start = fitted(&start, columns);
            let rest = fitted(&rest, columns.saturating_sub(display_width(&start)));
            lines.push(match mark {
                '>' => format!("{BOLD}{start}{rest}{BOLD:#}"),
                _ => format!("{start}{DIM}{rest}{DIM:#}"),
            });
        }
        if rows > 2 {
            lines.push(format!("{DIM}{}{DIM:#}", fitted(&self.status(), columns)));
        }
        lines
    }

    fn status(&self) -> String {
        if self.matching.is_empty() {
            return "nothing matches; Backspace takes a letter back, Esc leaves".to_owned();
        }
        if let (_, Some(typed)) = self.words_and_suffix() {
            let meant = self.meant_suffixes(typed);
            let names = if meant.is_empty() { &self.suffixes } else { &meant };
            return format!("after the @: {}", names.join(", "));
        }
        let (at, all) = (self.marked + 1, self.matching.len());
        format!("{at} of {all}; type to filter, arrows to move, Enter to run, Esc to leave")
    }
}

/// How well a word fits; less is better.
fn rank(choice: &Choice, word: &str) -> Option<usize> {
    let id = choice.id.to_lowercase();
    match () {
        () if id.starts_with(word) => Some(0),
        () if id.contains(word) || choice.title.to_lowercase().contains(word) => Some(1),
        () if choice.words.to_lowercase().contains(word) => Some(2),
        () if choice.description.to_lowercase().contains(word) => Some(3),
        () => None,
    }
}

/// All rows but the question's and the status line's.
fn list_rows(rows: usize) -> usize {
    rows.saturating_sub(2).max(1)
}

fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn padded(text: &str, width: usize) -> String {
    let text = fitted(&one_line(text), width);
    let missing = width.saturating_sub(display_width(&text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn choice(id: &str, title: &str, description: &str) -> Choice {
        Choice { id: id.into(), title: title.into(), description: description.into(), words: String::new() }
    }

    fn three() -> Chooser {
        let choices = vec![
            choice("engineer", "🔧 Dallas", "Builds a feature, or fixes a bug"),
            choice("debugger", "🐛", "Finds the cause"),
            choice("docs-writer", "", "Documents what is there"),
        ];
        Chooser::new(choices, vec!["best", "best-value", "minimum"])
    }

    fn press(chooser: &mut Chooser, keys: &[Key]) -> Option<Decision> {
        keys.iter().find_map(|key| chooser.press(*key, 24))
    }

    fn type_text(chooser: &mut Chooser, text: &str) {
        for c in text.chars() {
            assert_eq!(chooser.press(Key::Char(c), 24), None);
        }
    }

    fn screen(chooser: &mut Chooser, rows: usize, columns: usize) -> Vec<String> {
        let plain = |line: String| anstream::adapter::strip_str(&line).to_string().trim_end().to_owned();
        chooser.lines(rows, columns).into_iter().map(plain).collect()
    }

    #[test]
    fn it_shows_ids_names_and_descriptions() {
        assert_eq!(
            screen(&mut three(), 24, 60),
            [
                "Persona:",
                "> engineer     🔧 Dallas  Builds a feature, or fixes a bug",
                "  debugger     🐛         Finds the cause",
                "  docs-writer             Documents what is there",
                "1 of 3; type to filter, arrows to move, Enter to run, Esc t…",
            ]
        );
    }

    #[test]
    fn keys_move_the_mark_and_enter_takes_it() {
        let chosen = |id: &str| Some(Decision::Chosen(id.into()));
        assert_eq!(press(&mut three(), &[Key::Enter]), chosen("engineer"));
        assert_eq!(
            press(&mut three(), &[Key::Down, Key::Ctrl('n'), Key::Down, Key::Enter]),
            chosen("docs-writer")
        );
        assert_eq!(press(&mut three(), &[Key::End, Key::Up, Key::Enter]), chosen("debugger"));
        assert_eq!(press(&mut three(), &[Key::PageDown, Key::Home, Key::Enter]), chosen("engineer"));
        assert_eq!(press(&mut three(), &[Key::Escape]), Some(Decision::Left));
        assert_eq!(press(&mut three(), &[Key::Ctrl('d')]), Some(Decision::Left));
        assert_eq!(press(&mut three(), &[Key::Ctrl('c')]), Some(Decision::Interrupted));
        assert_eq!(press(&mut three(), &[Key::Other, Key::Ctrl('x')]), None);
    }

    #[test]
    fn typing_filters_and_the_best_match_is_marked() {
        let mut chooser = three();
        type_text(&mut chooser, "D");
        // By its id before by its description.
        assert_eq!(screen(&mut chooser, 24, 40)[1], "> debugger     🐛         Finds the cau…");
        type_text(&mut chooser, "ALLAS bug");
        assert_eq!(press(&mut chooser, &[Key::Enter]), Some(Decision::Chosen("engineer".into())));
        type_text(&mut chooser, "x");
        assert_eq!(press(&mut chooser, &[Key::Enter]), None);
        assert_eq!(screen(&mut chooser, 24, 40)[1], "nothing matches; Backspace takes a lett…");
        press(&mut chooser, &[Key::Ctrl('w')]);
        assert_eq!(chooser.typed, "DALLAS ");
        press(&mut chooser, &[Key::Ctrl('u')]);
        assert_eq!(chooser.matching.len(), 3);
    }

    #[test]
    fn a_tier_may_follow() {
        for (typed, chosen) in [
            ("debug@", Some("debugger")),
            ("debug@best", Some("debugger@best")),
            ("debug@best-", Some("debugger@best-value")),
            ("debug@m", Some("debugger@minimum")),
            ("debug@b", None),
            ("debug@x", None),
        ] {
            let mut chooser = three();
            type_text(&mut chooser, typed);
            let decision = press(&mut chooser, &[Key::Enter]);
            assert_eq!(decision, chosen.map(|id| Decision::Chosen(id.into())), "{typed}");
        }
        let mut chooser = three();
        type_text(&mut chooser, "debug@b");
        assert_eq!(screen(&mut chooser, 24, 60).last().unwrap(), "after the @: best, best-value");
    }

    #[test]
    fn the_list_scrolls_with_the_mark_and_follows_the_size() {
        let many = (0..100).map(|number| choice(&format!("p-{number:02}"), "", "")).collect();
        let mut chooser = Chooser::new(many, Vec::new());
        for _ in 0..30 {
            press(&mut chooser, &[Key::Down]);
        }
        let lines = screen(&mut chooser, 24, 80);
        assert_eq!((lines.len(), lines[22].as_str()), (24, "> p-30"));
        assert_eq!(screen(&mut chooser, 4, 80)[1..3], ["  p-29", "> p-30"]);
        press(&mut chooser, &[Key::End]);
        assert_eq!(screen(&mut chooser, 12, 80)[10], "> p-99");
        assert_eq!(screen(&mut chooser, 200, 80).len(), 102);
        assert_eq!(screen(&mut chooser, 1, 80), ["Persona:", "> p-99"]);
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let mut chooser = three();
        type_text(&mut chooser, "e");
        for columns in 1..80 {
            for line in screen(&mut chooser, 24, columns) {
                assert!(display_width(&line) <= columns, "{columns}: {line}");
            }
        }
    }
}
