//! Columns that line up. Knows nothing about what is in them.

use super::printable;
use super::text::{display_width, shortened};
use super::{BOLD, DIM};

/// Rows under a header, columns two spaces apart, the last one cut to the width of the screen.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    width: usize,
}

impl Table {
    pub fn new(header: &[&str]) -> Table {
        Table {
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
            width: screen_width(),
        }
    }

    /// For programs that read it.
    pub fn uncut(self) -> Table {
        Table { width: usize::MAX, ..self }
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| printable(cell.as_ref()).into_owned()).collect());
    }

    pub fn render(&self) -> String {
        let columns = self.header.len();
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| display_width(cell)).max();
            widest.unwrap_or(0).max(display_width(&self.header[column]))
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let before_last: usize = widths[..columns - 1].iter().map(|width| width + 2).sum();
        let last = self.width.saturating_sub(before_last).max(20);

        let mut text = String::new();
        text.push_str(&format!("{BOLD}{}{BOLD:#}\n", line(&self.header, &widths, last)));
        for row in &self.rows {
            text.push_str(&line(row, &widths, last));
            text.push('\n');
        }
        if self.rows.is_empty() {
            text.push_str(&format!("{DIM}(none){DIM:#}\n"));
        }
        text
    }
}

fn line(cells: &[String], widths: &[usize], last_width: usize) -> String {
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        if index + 1 == cells.len() {
            text.push_str(&shortened(cell, last_width));
        } else {
            text.push_str(cell);
            let missing = widths[index].saturating_sub(display_width(cell));
            text.push_str(&" ".repeat(missing + 2));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Of the terminal that stdout is.
pub fn screen_width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 140,
    }
}
