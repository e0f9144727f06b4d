//! The bare call on a terminal: a prompt over the catalogue, most recent first. Picks; `agent` does the rest.

use super::list::{self, Row};
use super::prompter::forget_typed;
use crate::error::Result;
use crate::files::{json_file, lock};
use crate::load::file;
use crate::ui::text::shortened;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::PathBuf;

const SHOWN: usize = 20;
const REMEMBERED: usize = 10;

/// The persona that the user chose, or `None` for none.
pub fn pick(workforce: &Workforce, ui: &mut Ui) -> Result<Option<String>> {
    let (found, _) = workforce.all();
    let mut rows = list::rows(workforce, &found, None, false);
    rows.retain(|row| row.runnable);
    let recent = recents(workforce);
    rows.sort_by_key(|row| recent.iter().position(|id| *id == row.persona).unwrap_or(usize::MAX));
    let mut filter = String::new();
    loop {
        let matching: Vec<&Row> = rows.iter().filter(|row| matches(row, &filter)).collect();
        forget_typed();
        show(&matching, &recent, ui);
        ui.say("Number or name to pick, a few letters to filter, Enter to leave:");
        let mut answer = String::new();
        if std::io::stdin().lock().read_line(&mut answer)? == 0 || answer.trim().is_empty() {
            return Ok(None);
        }
        match choose(answer.trim(), &matching) {
            Some(id) => {
                remember(workforce, &recent, &id);
                return Ok(Some(id));
            }
            None => answer.trim().clone_into(&mut filter),
        }
    }
}

fn matches(row: &Row, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let words = row.tags.iter().chain(row.expertise).map(String::as_str);
    let mut texts = [row.persona, row.name].into_iter().chain(row.description).chain(words);
    filter.is_empty() || texts.any(|text| text.to_lowercase().contains(&filter))
}

fn choose(answer: &str, matching: &[&Row]) -> Option<String> {
    if let Ok(number) = answer.parse::<usize>() {
        return matching.get(number.checked_sub(1)?).map(|row| row.persona.to_owned());
    }
    // A tier may be given along with the name.
    let name = answer.split('@').next().unwrap_or(answer);
    let exact = matching.iter().find(|row| row.persona.eq_ignore_ascii_case(name));
    if exact.is_some() {
        return Some(answer.to_owned());
    }
    let mut named = matching.iter().filter(|row| row.name.to_lowercase() == name.trim().to_lowercase());
    let row = named.next().filter(|_| named.next().is_none())?;
    Some(format!("{}{}", row.persona, &answer[name.len()..]))
}

fn show(rows: &[&Row], recent: &[String], ui: &mut Ui) {
    ui.say("");
    for (index, row) in rows.iter().take(SHOWN).enumerate() {
        let emoji = row.emoji.unwrap_or(" ");
        let mark = if recent.iter().any(|id| id == row.persona) { " (recent)" } else { "" };
        let description = shortened(row.description.unwrap_or_default(), 80);
        ui.say(&format!(
            "{:>4}  {} {BOLD}{}{BOLD:#}{DIM}{mark}  {}{DIM:#}",
            index + 1,
            printable(emoji),
            printable(row.persona),
            printable(&description)
        ));
    }
    if rows.len() > SHOWN {
        ui.say(&format!("      and {} more: type a few letters", rows.len() - SHOWN));
    }
    if rows.is_empty() {
        ui.say("      nothing matches");
    }
}

fn path(workforce: &Workforce) -> PathBuf {
    workforce.layers.home.join("recents.json")
}

/// A list that cannot be read is an empty one: it is a convenience.
fn recents(workforce: &Workforce) -> Vec<String> {
    let path = path(workforce);
    let text = file::read_text(&path).ok().flatten().unwrap_or_default();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let list = value.get("personas").and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

fn remember(workforce: &Workforce, recent: &[String], chosen: &str) {
    let id = chosen.split('@').next().unwrap_or(chosen);
    let others = recent.iter().filter(|other| other.as_str() != id).cloned();
    let list: Vec<String> = std::iter::once(id.to_owned()).chain(others).take(REMEMBERED).collect();
    // Nobody's run fails because the list of recent ones cannot be kept.
    let _ = lock::directories(&[&workforce.layers.home]).and_then(|_lock| {
        json_file::edit(&path(workforce), |object| {
            object.insert("personas".into(), json!(list));
            Ok(())
        })
    });
}
