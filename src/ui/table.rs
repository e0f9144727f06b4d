//! Columns that line up and fit the screen. Knows nothing about what is in them.

use super::printable;
use super::text::{display_width, fitted, wrapped};
use super::{BOLD, DIM};

/// Width that the last column keeps as long as another one can give way.
const LAST_COLUMN: usize = 20;
/// Below this a column says nothing.
const NARROWEST: usize = 6;

/// Rows under a header, columns two spaces apart. On a terminal they are made to fit its width; elsewhere nothing is cut.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Of the screen; `None` where the table is not shown on one.
    width: Option<usize>,
    /// Which column gives way first, and the width that it keeps; with 0 it is left out.
    gives_way: Vec<(usize, usize)>,
    /// Whether the last column goes on in further lines instead of being cut.
    wraps: bool,
}

impl Table {
    pub fn new(header: &[&str]) -> Table {
        let last = header.len() - 1;
        // The first column is what a row is named by.
        let others = (1..last).rev().chain([last, 0]).map(|column| (column, NARROWEST));
        Table {
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            width: terminal_width(),
            gives_way: [(last, LAST_COLUMN)].into_iter().chain(others).collect(),
            wraps: false,
        }
    }

    /// Which columns give way on a narrow screen, first to last, each down to a width; with 0 it is left out.
    pub fn giving_way(mut self, order: &[(usize, usize)]) -> Table {
        self.gives_way = order.to_vec();
        self
    }

    /// The last column explains the others: it is shown whole.
    pub fn wrapping(mut self) -> Table {
        self.wraps = true;
        self
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let one_line = |cell: &str| printable(cell).split_whitespace().collect::<Vec<_>>().join(" ");
        self.rows.push(cells.into_iter().map(|cell| one_line(cell.as_ref())).collect());
    }

    pub fn render(&self) -> String {
        let widths = self.widths();
        let mut text = format!("{BOLD}{}{BOLD:#}\n", line(&self.header, &widths));
        for row in &self.rows {
            for cells in self.lines_of(row, &widths) {
                text.push_str(&line(&cells, &widths));
                text.push('\n');
            }
        }
        if self.rows.is_empty() {
            text.push_str(&format!("{DIM}(none){DIM:#}\n"));
        }
        text
    }

    /// The cells of a row, and those of the lines that its last column goes on in.
    fn lines_of(&self, row: &[String], widths: &[Option<usize>]) -> Vec<Vec<String>> {
        let last = self.header.len() - 1;
        let (Some(text), Some(Some(width)), true) = (row.get(last), widths.get(last), self.wraps) else {
            return vec![row.to_vec()];
        };
        let mut lines: Vec<Vec<String>> = wrapped(text, *width)
            .into_iter()
            .map(|text| with_last(vec![String::new(); last], text))
            .collect();
        match lines.first_mut() {
            Some(first) => first[..last].clone_from_slice(&row[..last]),
            None => lines.push(row.to_vec()),
        }
        lines
    }

    /// The width of every column; `None` for one that is left out.
    fn widths(&self) -> Vec<Option<usize>> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).chain([&self.header[column]]);
            Some(cells.map(|cell| display_width(cell)).max().unwrap_or(0))
        };
        let mut widths: Vec<Option<usize>> = (0..self.header.len()).map(widest).collect();
        let Some(screen) = self.width else { return widths };
        for &(column, kept) in &self.gives_way {
            let missing = taken(&widths).saturating_sub(screen);
            if let Some(width) = widths[column].filter(|_| missing > 0) {
                widths[column] = (kept > 0).then(|| width.saturating_sub(missing).max(kept.min(width)));
            }
        }
        // What was left out may have made more room than was missing.
        for &(column, _) in self.gives_way.iter().rev() {
            let free = screen.saturating_sub(taken(&widths));
            if let (Some(width), Some(widest)) = (widths[column], widest(column)) {
                widths[column] = Some((width + free).min(widest));
            }
        }
        widths
    }
}

fn taken(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + 2 * shown.count().saturating_sub(1)
}

fn with_last(mut cells: Vec<String>, last: String) -> Vec<String> {
    cells.push(last);
    cells
}

fn line(cells: &[String], widths: &[Option<usize>]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let Some(width) = *width else { continue };
        let cell = fitted(cell, width);
        let missing = width.saturating_sub(display_width(&cell));
        text.push_str(&cell);
        text.push_str(&" ".repeat(missing + 2));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Columns of the terminal that stdout is, or a good many.
pub fn screen_width() -> usize {
    terminal_width().unwrap_or(140)
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn table(width: Option<usize>) -> Table {
        let mut table = Table { width, ..Table::new(&["ID", "NAME", "MODEL", "DESCRIPTION"]) }.giving_way(&[
            (3, 12),
            (2, 0),
            (1, 5),
            (0, 4),
            (3, 4),
        ]);
        table.row(["code-reviewer", "🔍 Ripley", "sonnet", "Reviews what has changed"]);
        table.row(["x", "", "opus", "日本語"]);
        table
    }

    fn lines(width: Option<usize>) -> Vec<String> {
        let text = anstream::adapter::strip_str(&table(width).render()).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_column_that_explains_goes_on_in_further_lines() {
        let mut table =
            Table { width: Some(30), ..Table::new(&["KEY", "MEANING"]) }.giving_way(&[(1, 10)]).wrapping();
        table.row(["a.long.key", "what it means at some length, to the end"]);
        table.row(["b", ""]);
        let text = anstream::adapter::strip_str(&table.render()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "KEY         MEANING",
                "a.long.key  what it means at",
                "            some length, to",
                "            the end",
                "b",
            ]
        );
    }

    #[test]
    fn nothing_is_cut_where_there_is_no_screen() {
        assert_eq!(
            lines(None),
            [
                "ID             NAME       MODEL   DESCRIPTION",
                "code-reviewer  🔍 Ripley  sonnet  Reviews what has changed",
                "x                         opus    日本語",
            ]
        );
    }

    #[test]
    fn columns_give_way_in_their_order() {
        assert_eq!(lines(Some(48))[1], "code-reviewer  🔍 Ripley  sonnet  Reviews what…");
        // Without the model the description has its room.
        assert_eq!(lines(Some(44))[1], "code-reviewer  🔍 Ripley  Reviews what has…");
        assert_eq!(lines(Some(33))[1], "code-review…  🔍 R…  Reviews wha…");
        assert_eq!(lines(Some(20))[1], "cod…  🔍 R…  Review…");
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for width in 17..80 {
            for line in lines(Some(width)) {
                assert!(display_width(&line) <= width, "{width}: {line}");
            }
        }
    }
}
