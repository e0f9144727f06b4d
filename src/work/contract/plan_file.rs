//! The plan file: a Markdown table of tasks. Finds the row of an id, and sets its marker. Changes nothing else in the text.

use std::ops::Range;

/// The row of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanRow {
    pub id: String,
    pub title: String,
    pub definition_of_done: Option<String>,
    pub depends_on: Vec<String>,
    pub status: String,
    /// Its line, counted from 1.
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Task,
    Title,
    Done,
    Depends,
    Status,
}

fn column(heading: &str) -> Option<Column> {
    let letters = heading.chars().filter(|c| c.is_alphanumeric() || *c == '#').flat_map(char::to_lowercase);
    let name: String = letters.take(40).collect();
    match name.as_str() {
        "task" | "id" | "taskid" | "#" | "no" | "nr" => Some(Column::Task),
        "title" | "content" | "contents" | "description" | "summary" | "what" => Some(Column::Title),
        "dod" | "definitionofdone" | "done" | "doneswhen" | "donewhen" | "acceptance"
        | "acceptancecriteria" => Some(Column::Done),
        "depends" | "dependson" | "dependencies" | "deps" | "dependency" => Some(Column::Depends),
        "status" | "state" | "marker" => Some(Column::Status),
        _ => None,
    }
}

/// Where a task was found: the row, and its cells in the text.
struct Found {
    row: PlanRow,
    status: Range<usize>,
}

/// The row of a task; an error says why there is none, or that there are several.
pub fn find_row(text: &str, id: &str) -> Result<PlanRow, String> {
    find(text, id).map(|found| found.row)
}

/// The text with the marker `cc:done` in the row of a task. The same text if it is there already.
pub fn mark_done(text: &str, id: &str) -> Result<String, String> {
    let Found { status, .. } = find(text, id)?;
    let cell = &text[status.clone()];
    let trimmed = cell.trim();
    let marker = match marker(trimmed) {
        // Notes around the marker stay.
        Some(marker) => trimmed.replacen(marker, "cc:done", 1),
        None => "cc:done".to_owned(),
    };
    let cell = if trimmed.is_empty() { " cc:done ".to_owned() } else { cell.replacen(trimmed, &marker, 1) };
    Ok(format!("{}{cell}{}", &text[..status.start], &text[status.end..]))
}

/// The `cc:...` word of a cell.
fn marker(cell: &str) -> Option<&str> {
    let start = cell.find("cc:")?;
    let word = &cell[start..];
    let end = word[3..].find(|c: char| !c.is_alphanumeric()).map_or(word.len(), |end| end + 3);
    (end > 3).then(|| &word[..end])
}

fn find(text: &str, id: &str) -> Result<Found, String> {
    let mut headings: Vec<Option<Column>> = Vec::new();
    let mut found: Option<Found> = None;
    let (mut rows, mut start, mut fence) = (0_usize, 0, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let offset = start;
        start += line.len();
        let content = line.trim_end();
        if content.trim_start().starts_with("```") {
            fence = !fence;
        }
        if fence || !content.contains('|') {
            headings.clear();
            continue;
        }
        let cells = cells(content);
        if headings.is_empty() {
            headings = cells.iter().map(|cell| column(&content[cell.clone()])).collect();
            if !headings.contains(&Some(Column::Task)) || !headings.contains(&Some(Column::Status)) {
                headings.clear();
            }
            continue;
        }
        if is_rule(content) {
            continue;
        }
        rows += 1;
        let cell = |wanted: Column| {
            let index = headings.iter().position(|heading| *heading == Some(wanted))?;
            cells.get(index).cloned()
        };
        let value = |wanted: Column| cell(wanted).map(|range| unescaped(&content[range])).unwrap_or_default();
        if plain(&value(Column::Task)) != id {
            continue;
        }
        let Some(status) = cell(Column::Status) else {
            return Err(format!("the row of `{id}` in line {} has no status column", number + 1));
        };
        if let Some(first) = &found {
            return Err(format!("`{id}` is there twice, in lines {} and {}", first.row.line, number + 1));
        }
        let done = value(Column::Done);
        let row = PlanRow {
            id: id.to_owned(),
            title: value(Column::Title),
            definition_of_done: Some(done).filter(|done| !done.is_empty() && done != "-"),
            depends_on: ids(&value(Column::Depends)),
            status: value(Column::Status),
            line: number + 1,
        };
        found = Some(Found { row, status: offset + status.start..offset + status.end });
    }
    found.ok_or_else(|| match rows {
        0 => "no table with the columns task and status was found".to_owned(),
        _ => format!("no row of `{id}` among {rows}"),
    })
}

/// The cells of a row, as ranges of its bytes. `\|` is no border, nor is a bar between backticks.
fn cells(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut borders = Vec::new();
    let mut escaped = false;
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'|' if !escaped => borders.push(index),
            _ => escaped = false,
        }
    }
    let mut cells = Vec::new();
    let mut start = 0;
    for border in borders {
        cells.push(start..border);
        start = border + 1;
    }
    cells.push(start..line.len());
    // The bars at both ends enclose no cell.
    if cells.first().is_some_and(|cell| line[cell.clone()].trim().is_empty()) {
        cells.remove(0);
    }
    if cells.len() > 1 && cells.last().is_some_and(|cell| line[cell.clone()].trim().is_empty()) {
        cells.pop();
    }
    cells
}

/// The line between the headings and the rows.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

fn unescaped(cell: &str) -> String {
    cell.trim().replace("\\|", "|")
}

/// An id without what people put around it.
fn plain(cell: &str) -> &str {
    cell.trim_matches(['*', '_', '`', '~', ' '])
}

fn ids(cell: &str) -> Vec<String> {
    let words = cell.split([',', ';', ' ']).map(plain);
    words
        .filter(|word| !word.is_empty() && word.chars().any(char::is_alphanumeric))
        .filter(|word| !word.eq_ignore_ascii_case("none"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Plan\n\n| Task | Content | DoD | Depends | Status |\n|------|:---|---|---|---|\n\
        | 1.1 | Fix a\\|b | tests pass | - | cc:TODO |\n| **1.2** | Lock é | | 1.1, `1.0` | cc:WIP (ralph) |\r\n\
        \n```\n| 1.1 | not a row | x | y | z |\n```\n";

    #[test]
    fn a_row_is_found_by_its_id() {
        let row = PlanRow {
            id: "1.1".into(),
            title: "Fix a|b".into(),
            definition_of_done: Some("tests pass".into()),
            depends_on: Vec::new(),
            status: "cc:TODO".into(),
            line: 5,
        };
        assert_eq!(find_row(PLAN, "1.1"), Ok(row));
        let row = find_row(PLAN, "1.2").unwrap();
        assert_eq!(
            (row.depends_on, row.definition_of_done),
            (vec!["1.1".to_owned(), "1.0".to_owned()], None)
        );
    }

    #[test]
    fn headings_have_other_names_and_any_order() {
        let text =
            "status|ID|Title|Definition of Done|Depends on\n--|--|--|--|--\ncc:TODO|a|Do it|works|none\n";
        let row = find_row(text, "a").unwrap();
        assert_eq!((row.title.as_str(), row.definition_of_done.as_deref()), ("Do it", Some("works")));
        assert_eq!((row.status.as_str(), row.depends_on.len()), ("cc:TODO", 0));
    }

    #[test]
    fn what_is_missing_or_ambiguous_is_said() {
        assert!(find_row(PLAN, "9").unwrap_err().contains("no row of `9` among 2"));
        assert!(find_row("nothing", "9").unwrap_err().contains("no table"));
        let twice = format!("{PLAN}\n| Task | Title | Status |\n|-|-|-|\n| 1.1 | again | cc:TODO |\n");
        assert!(find_row(&twice, "1.1").unwrap_err().contains("twice"));
    }

    #[test]
    fn only_the_marker_changes() {
        assert_eq!(mark_done(PLAN, "1.1"), Ok(PLAN.replace("cc:TODO", "cc:done")));
        assert_eq!(mark_done(PLAN, "1.2"), Ok(PLAN.replace("cc:WIP", "cc:done")));
        let done = mark_done(PLAN, "1.1").unwrap();
        assert_eq!(mark_done(&done, "1.1"), Ok(done.clone()));
        let empty = "|id|status|\n|-|-|\n|a||\n";
        assert_eq!(mark_done(empty, "a"), Ok("|id|status|\n|-|-|\n|a| cc:done |\n".into()));
        assert!(mark_done(PLAN, "9").is_err());
    }
}
