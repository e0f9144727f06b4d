//! `sources list|add|remove`: the directories that personas come from.

use super::say;
use crate::cli::SourcesCommand;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::{json_file, lock};
use crate::host::Host;
use crate::load::file::FileProblem;
use crate::load::layers::{configured_dir, user_personas};
use crate::model::shape::Object;
use crate::model::source::LayerId;
use crate::model::warning::Warning;
use crate::ui::{Table, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn run(command: &SourcesCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    match command {
        SourcesCommand::List => list(&workforce, ui),
        SourcesCommand::Add { dir, position } => add(&workforce, dir, *position, ui),
        SourcesCommand::Remove { which } => remove(&workforce, which, ui),
    }
}

/// The configured directories as absolute paths; without any in the config, the user's own.
fn configured(workforce: &Workforce) -> Vec<PathBuf> {
    let (host, home) = (&workforce.host, &workforce.layers.home);
    match &workforce.config.settings.persona_dirs {
        Some(dirs) => dirs.iter().map(|dir| configured_dir(host, home, dir)).collect(),
        None => vec![user_personas(host, home)],
    }
}

fn list(workforce: &Workforce, ui: &mut Ui) -> Result<Exit> {
    let config = workforce.config.problems.iter().map(FileProblem::to_warning);
    let warnings: Vec<Warning> = config.chain(workforce.layers.warnings.iter().cloned()).collect();
    say::warnings(&warnings, ui);
    let dirs = configured(workforce);
    // All cells are texts: that is what scripts of the npm tool read.
    let rows: Vec<[String; 5]> = workforce
        .layers
        .all
        .iter()
        .filter(|layer| layer.personas.is_some() || layer.id == LayerId::Library)
        .enumerate()
        .map(|(index, layer)| {
            let dir = layer.personas.as_deref();
            let number = dir
                .and_then(|dir| dirs.iter().position(|other| other == dir || other.join("personas") == dir));
            [
                (index + 1).to_string(),
                number.map(|number| (number + 1).to_string()).unwrap_or_default(),
                layer.id.to_string(),
                if dir.is_none_or(Path::is_dir) { "yes".into() } else { "no".into() },
                dir.map_or("(built-in)".into(), |dir| dir.display().to_string()),
            ]
        })
        .collect();
    let target = workforce.config.settings.default_create_target.as_deref();
    if ui.is_json() {
        let rows: Vec<Value> = rows
            .iter()
            .map(|[cascade, config, source, exists, dir]| {
                json!({"cascade": cascade, "config": config, "source": source, "exists": exists, "dir": dir})
            })
            .collect();
        let mut value = json!({
            "configPath": workforce.config.path, "personaDirs": dirs, "sources": rows,
        });
        if let Some(target) = target {
            value["defaultCreateTarget"] = json!(target);
        }
        say::json(value, &warnings, ui);
        return Ok(Exit::Done);
    }
    ui.line(format!("Config: {}", workforce.config.path.display()));
    ui.line(printable(&format!("Default create target: {}", target.unwrap_or("(auto)"))));
    ui.line("");
    let mut table = Table::new(&["CASCADE", "CONFIG", "SOURCE", "EXISTS", "DIR"]);
    for row in rows {
        table.row(row);
    }
    ui.table(&table);
    Ok(Exit::Done)
}

/// Changes the list of directories under the lock, from what the file says then.
fn change(workforce: &Workforce, edit: impl FnOnce(&mut Vec<String>) -> Result<()>) -> Result<()> {
    let home = &workforce.layers.home;
    let _lock = lock::directories(&[home])?;
    json_file::edit(&workforce.config.path, |object: &mut Object| {
        let mut dirs: Vec<String> = match object.get("personaDirs") {
            Some(Value::Array(dirs)) => {
                dirs.iter().filter_map(|dir| dir.as_str().map(str::to_owned)).collect()
            }
            _ => vec![user_personas(&workforce.host, home).display().to_string()],
        };
        edit(&mut dirs)?;
        json_file::set(object, "personaDirs", Some(json!(dirs)));
        Ok(())
    })
}

fn add(workforce: &Workforce, dir: &Path, position: Option<usize>, ui: &mut Ui) -> Result<Exit> {
    let absolute = workforce.host.absolute(&workforce.host.expand_tilde(&dir.to_string_lossy()));
    if !absolute.is_dir() {
        return Err(CommandError::usage(format!("{} is not a directory", absolute.display()))
            .hint("make it first, or check the spelling"));
    }
    let Some(text) = absolute.to_str() else {
        return Err(CommandError::usage(format!("{} has a name that is not UTF-8", absolute.display())));
    };
    change(workforce, |dirs| {
        let known =
            |other: &String| configured_dir(&workforce.host, &workforce.layers.home, other) == absolute;
        if dirs.iter().any(known) {
            return Err(CommandError::usage(format!("{} is configured already", absolute.display())));
        }
        let index = match position {
            None => dirs.len(),
            Some(position) if (1..=dirs.len() + 1).contains(&position) => position - 1,
            Some(position) => {
                return Err(CommandError::usage(format!(
                    "position {position} is not between 1 and {}",
                    dirs.len() + 1
                )));
            }
        };
        dirs.insert(index, text.to_owned());
        Ok(())
    })?;
    report(workforce, "added", "Added", text, ui)
}

fn remove(workforce: &Workforce, which: &str, ui: &mut Ui) -> Result<Exit> {
    let mut removed = String::new();
    change(workforce, |dirs| {
        let resolve = |dir: &String| configured_dir(&workforce.host, &workforce.layers.home, dir);
        let wanted = workforce.host.absolute(&workforce.host.expand_tilde(which));
        let index = match which.parse::<usize>() {
            Ok(number) => number.checked_sub(1).filter(|index| *index < dirs.len()),
            Err(_) => dirs.iter().position(|dir| resolve(dir) == wanted),
        };
        let index = index.ok_or_else(|| {
            CommandError::usage(format!("`{which}` is not a configured directory"))
                .hint("`agentworkforce sources list` shows them with their numbers")
        })?;
        removed = dirs.remove(index);
        Ok(())
    })?;
    report(workforce, "removed", "Removed", &removed, ui)
}

fn report(workforce: &Workforce, action: &str, word: &str, dir: &str, ui: &mut Ui) -> Result<Exit> {
    let path = &workforce.config.path;
    if ui.is_json() {
        say::json(json!({"action": action, "dir": dir, "configPath": path}), &[], ui);
    } else {
        ui.line(printable(&format!("{word} {dir}")));
        ui.line(format!("Config: {}", path.display()));
    }
    Ok(Exit::Done)
}
