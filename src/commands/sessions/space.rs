//! `sessions du` and `sessions prune`: what sessions take of the disk, and removing those that nobody needs.

use super::{answer, list, parse_age};
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::model::amounts::{self, counted};
use crate::session::prune::{KeptBecause, PruneRequest, Pruned};
use crate::session::{SessionEntry, SessionStore, Sessions};
use crate::ui::{Table, Ui, printable};
use crate::workforce::Workforce;
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct Sized {
    bytes: u64,
    #[serde(flatten)]
    entry: SessionEntry,
}

pub(super) fn du(sessions: &Sessions, ui: &mut Ui) -> Result<Exit> {
    let mut rows = Vec::new();
    for entry in sessions.list()? {
        let bytes = sessions.store.listed(&entry).and_then(|session| session.disk_use(None));
        rows.push(Sized { bytes: bytes.unwrap_or_default(), entry });
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    let total: u64 = rows.iter().map(|row| row.bytes).sum();
    if ui.is_json() {
        answer(&json!({"sessions": rows, "bytes": total}), ui);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["SIZE", "SESSION", "OUTCOME"]);
    for row in &rows {
        table.row([amounts::bytes(row.bytes), row.entry.id.clone(), list::outcome(&row.entry)]);
    }
    if !rows.is_empty() {
        ui.table(&table);
    }
    ui.line(format!("{} in {}", amounts::bytes(total), counted(rows.len(), "session")));
    Ok(Exit::Done)
}

pub(super) fn prune(
    sessions: &Sessions,
    older_than: &str,
    force: bool,
    dry_run: bool,
    ui: &mut Ui,
) -> Result<Exit> {
    let request = PruneRequest { older_than: parse_age(older_than)?, force, dry_run };
    let pruned = sessions.prune(&request)?;
    if ui.is_json() {
        answer(&pruned, ui);
        return Ok(Exit::Done);
    }
    if dry_run {
        for id in &pruned.removed {
            ui.line(format!("would remove {id}"));
        }
    }
    // What is only too young needs no reason.
    let has_reason = |because| !matches!(because, KeptBecause::Newer | KeptBecause::Running);
    for kept in pruned.kept.iter().filter(|kept| has_reason(kept.because)) {
        ui.line(printable(&format!("kept {}: {}", kept.session, kept.reason)));
    }
    ui.line(summary(&pruned, older_than));
    Ok(Exit::Done)
}

/// `removed 12 sessions, 340 MB; kept 3 with unapplied work`.
fn summary(pruned: &Pruned, older_than: &str) -> String {
    let verb = if pruned.dry_run { "would remove" } else { "removed" };
    let mut text = match pruned.removed.len() {
        0 if pruned.dry_run => "nothing to remove".to_owned(),
        0 => "nothing removed".to_owned(),
        count => format!("{verb} {}, {}", counted(count, "session"), amounts::bytes(pruned.bytes)),
    };
    let kept: Vec<String> = [
        (KeptBecause::Work, "with unapplied work".to_owned()),
        (KeptBecause::Unfinished, "to recover first".to_owned()),
        (KeptBecause::Unreadable, "that cannot be read".to_owned()),
        (KeptBecause::Running, "running".to_owned()),
        (KeptBecause::Newer, format!("newer than {older_than}")),
    ]
    .into_iter()
    .filter_map(|(because, what)| {
        let count = pruned.kept.iter().filter(|kept| kept.because == because).count();
        (count > 0).then(|| format!("{count} {what}"))
    })
    .collect();
    if !kept.is_empty() {
        text.push_str(&format!("; kept {}", kept.join(", ")));
    }
    text
}

/// Removes old sessions after a run, as the config allows.
pub fn tidy(workforce: &Workforce, host: &Host, ui: &mut Ui) {
    let store = SessionStore::new(&workforce.layers.home);
    let settings = &workforce.config.settings.sessions;
    let tidied = Sessions::plain(&store, host, &crate::mount::CrashPoints::none())
        .tidy(&workforce.layers.home, settings);
    if tidied.removed > 0 && !ui.is_json() {
        let removed = counted(tidied.removed, "old session");
        ui.say(&format!("removed {removed}, {} (config `sessions`)", amounts::bytes(tidied.bytes)));
    }
}
