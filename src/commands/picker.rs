//! The bare call on a terminal: a list of the catalogue, most recent first. Picks; `agent` does the rest.

use super::list::{self, Row};
use super::prompter::forget_typed;
use crate::error::Result;
use crate::files::{json_file, lock};
use crate::host::Host;
use crate::host::terminal::UserTerminal;
use crate::load::file;
use crate::model::tier::Tier;
use crate::ui::chooser::{Choice, Chooser, Decision};
use crate::ui::raw_terminal::{self, Answer};
use crate::ui::text::fitted;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use std::io::BufRead;
use std::path::PathBuf;

/// All that fit on a terminal of 24 lines, with the question and the answer.
const SHOWN: usize = 21;
const REMEMBERED: usize = 10;

/// How the question ended.
pub enum Picked {
    /// This persona, perhaps with a tier.
    Persona(String),
    Nothing,
    /// A signal told us to end.
    Signal(i32),
}

/// Has the user choose a persona: in a list on a screen of its own, or at a prompt where the terminal has none.
pub fn pick(workforce: &Workforce, host: &Host, ui: &mut Ui) -> Result<Picked> {
    let (found, _) = workforce.all();
    let mut rows = list::rows(workforce, &found, None, false);
    rows.retain(|row| row.runnable);
    let recent = recents(workforce);
    rows.sort_by_key(|row| recent.iter().position(|id| *id == row.persona).unwrap_or(usize::MAX));
    let has_screen = host.var("TERM").is_some_and(|term| term != "dumb");
    let picked = match UserTerminal::open().filter(|terminal| has_screen && terminal.is_ours()) {
        Some(terminal) => on_screen(&rows, &terminal, ui)?,
        None => at_prompt(&rows, &recent, ui)?.map_or(Picked::Nothing, Picked::Persona),
    };
    if let Picked::Persona(id) = &picked {
        remember(workforce, &recent, id);
    }
    Ok(picked)
}

fn on_screen(rows: &[Row], terminal: &UserTerminal, ui: &mut Ui) -> Result<Picked> {
    let choices = rows.iter().map(|row| Choice {
        id: row.persona.to_owned(),
        title: row.title(),
        description: row.description.unwrap_or_default().to_owned(),
        words: row.tags.iter().chain(row.expertise).map(String::as_str).collect::<Vec<_>>().join(" "),
    });
    let mut chooser = Chooser::new(choices.collect(), Tier::ALL.map(Tier::name).to_vec());
    ui.flush();
    Ok(match raw_terminal::choose(&mut chooser, terminal)? {
        Answer::Decided(Decision::Chosen(id)) => Picked::Persona(id),
        Answer::Decided(Decision::Left) | Answer::End => Picked::Nothing,
        Answer::Decided(Decision::Interrupted) => Picked::Signal(SIGINT),
        Answer::Signal(signal) => Picked::Signal(signal),
    })
}

fn at_prompt(rows: &[Row], recent: &[String], ui: &mut Ui) -> Result<Option<String>> {
    let mut filter = String::new();
    loop {
        let matching: Vec<&Row> = rows.iter().filter(|row| matches(row, &filter)).collect();
        forget_typed();
        show(&matching, recent, ui);
        ui.say("Number or name to pick, a few letters to filter, Enter to leave:");
        let mut answer = String::new();
        if std::io::stdin().lock().read_line(&mut answer)? == 0 || answer.trim().is_empty() {
            return Ok(None);
        }
        match choose(answer.trim(), &matching) {
            Some(id) => return Ok(Some(id)),
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
        let start = printable(&format!("{:>4}  {emoji} {}", index + 1, row.persona)).into_owned();
        let mark = if recent.iter().any(|id| id == row.persona) { " (recent)" } else { "" };
        let name = if row.name == row.persona { "" } else { row.name };
        let rest = [mark, "  ", name, "  ", row.description.unwrap_or_default()].concat();
        let rest: Vec<&str> = rest.split_whitespace().collect();
        let line = fitted(&format!("{start}  {}", printable(&rest.join(" "))), ui.columns());
        let (start, rest) = line.split_at(line.floor_char_boundary(start.len()));
        ui.say(&format!("{BOLD}{start}{BOLD:#}{DIM}{rest}{DIM:#}"));
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
