//! Which harnesses are installed, in which version, and whether one of them can be used.

use super::login::{self, Login};
use super::{Row, Status};
use crate::host::Host;
use crate::model::tier::Harness;
use crate::tool::{self, Lookup, version};
use std::collections::BTreeMap;

const AREA: &str = "harness";

/// Two rows a harness, and one more where none can be used. `personas` says how many run on each.
pub fn rows(host: &Host, personas: &BTreeMap<Harness, usize>) -> Vec<Row> {
    // All at once: most of the time is theirs.
    let looked: Vec<Looked> = std::thread::scope(|scope| {
        let handles = Harness::ALL.map(|harness| scope.spawn(move || Looked::at(harness, host)));
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let any_usable = looked.iter().any(Looked::is_usable);
    let mut rows = Vec::new();
    for Looked { harness, installed, login } in looked {
        let name = harness.name();
        match installed {
            Installed::Missing => {
                let wanted = personas.get(&harness).copied().unwrap_or(0);
                let wanted =
                    if wanted > 0 { format!("; {wanted} persona(s) run on it") } else { String::new() };
                let fix = format!("npm install -g {}", harness.package());
                rows.push(Row::warning(AREA, name, format!("not installed{wanted}"), fix));
                continue;
            }
            Installed::Broken { path, why } => {
                let fix = format!("npm install -g {}", harness.package());
                rows.push(Row::problem(AREA, name, format!("{path}: {why}"), fix));
            }
            Installed::Version { path, version } => {
                rows.push(Row::ok(AREA, name, format!("{version} at {path}")));
            }
        }
        rows.push(login.row(harness));
    }
    if !any_usable {
        // The shortest way: log in to what is there, else install what most personas want.
        let detail = "no harness can be used, so no persona can run";
        let of_login = rows.iter().find(|row| row.area == login::AREA && row.status != Status::Ok);
        let wanted =
            personas.iter().max_by_key(|(_, count)| **count).map_or(Harness::Claude, |(harness, _)| *harness);
        let fix = of_login.and_then(|row| row.fix.clone());
        let fix = fix.unwrap_or_else(|| format!("npm install -g {}", wanted.package()));
        rows.push(Row::problem(AREA, "any", detail, fix));
    }
    rows
}

struct Looked {
    harness: Harness,
    installed: Installed,
    login: Login,
}

enum Installed {
    Missing,
    Broken { path: String, why: String },
    Version { path: String, version: String },
}

impl Looked {
    fn at(harness: Harness, host: &Host) -> Looked {
        let installed = match tool::look_up(host, harness.name()) {
            Lookup::Missing => Installed::Missing,
            Lookup::NotExecutable(path) => {
                Installed::Broken { path: path.display().to_string(), why: "is not executable".into() }
            }
            Lookup::Found(path) => {
                let shown = path.display().to_string();
                match version::of(&path) {
                    Ok(version) => Installed::Version { path: shown, version },
                    Err(why) => Installed::Broken { path: shown, why },
                }
            }
        };
        Looked { harness, installed, login: login::look(harness, host) }
    }

    fn is_usable(&self) -> bool {
        matches!(self.installed, Installed::Version { .. }) && self.login.is_enough()
    }
}
