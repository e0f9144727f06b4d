//! `sessions list`: one session a row, with its task below on a narrow screen; in a pipe one uncut row each.

use super::parse_age;
use crate::cli::SessionsListArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::amounts::{self, counted};
use crate::model::report::Usage;
use crate::model::warning::Warning;
use crate::mount::changes::diff::printable_name;
use crate::session::filter::SessionFilter;
use crate::session::id::short_name;
use crate::session::{SessionEntry, SessionOutcome, SessionState, Sessions};
use crate::ui::table::screen_width;
use crate::ui::text::fitted;
use crate::ui::{DIM, Table, Ui, printable};
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::Path;

/// From this width on the task has enough room in the row itself.
const WIDE: usize = 120;
/// In front of a task in a row of its own.
const INDENT: &str = "        ";
/// Fewer of the last digits of a name say nothing.
const FEWEST_DIGITS: usize = 4;

/// Written as it is: a tree of values of hundreds of sessions would take more room than they do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    schema_version: u32,
    sessions: &'a [SessionEntry],
    warnings: [Warning; 0],
}

pub(super) fn run(args: &SessionsListArgs, sessions: &Sessions, ui: &mut Ui) -> Result<Exit> {
    let filter = filter(args, sessions.host)?;
    let entries = sessions.list_matching(&filter)?;
    if ui.is_json() {
        ui.json(&Listed { schema_version: 2, sessions: &entries, warnings: [] });
        return Ok(Exit::Done);
    }
    let now = sessions.host.now();
    if entries.is_empty() {
        let none = if filter == SessionFilter::default() { "no sessions yet" } else { "no session matches" };
        ui.say(none);
    } else if ui.is_on_terminal() {
        let names = Names::of(sessions)?;
        let projects = Projects::of(&entries, sessions.host);
        let rows: Vec<Row> = entries.iter().map(|entry| Row::of(entry, sessions.host, now)).collect();
        if screen_width() >= WIDE {
            wide(&rows, &names, &projects, ui);
        } else {
            narrow(&rows, &names, &projects, ui);
        }
        ui.line(format!("\n{DIM}{}{DIM:#}", sum(&entries)));
    } else {
        let rows: Vec<Row> = entries.iter().map(|entry| Row::of(entry, sessions.host, now)).collect();
        uncut(&rows, ui);
    }
    ui.flush();
    for (entry, problem) in entries.iter().filter_map(|entry| Some((entry, entry.problem.as_ref()?))) {
        ui.warning(printable(&format!("session {}: {problem}", entry.id)));
    }
    if entries.iter().any(|entry| entry.state == SessionState::Interrupted) {
        ui.hint("`agentworkforce sessions recover` recovers sessions whose runner died");
    }
    Ok(Exit::Done)
}

fn filter(args: &SessionsListArgs, host: &Host) -> Result<SessionFilter> {
    let project = args.project.as_ref().map(|dir| {
        let dir = host.absolute(dir);
        dir.canonicalize().unwrap_or(dir)
    });
    Ok(SessionFilter {
        project,
        outcomes: args.state.clone(),
        persona: args.persona.clone(),
        since: args.since.as_deref().map(|since| parse_since(since, host)).transpose()?,
        words: args.words.iter().chain(&args.search).cloned().collect(),
    })
}

/// `2d`: so long ago; `2026-11-01`: the beginning of that day here; or a whole time.
fn parse_since(text: &str, host: &Host) -> Result<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(day) = text.parse::<jiff::civil::Date>()
        && let Ok(start) = day.to_zoned(host.local(host.now()).time_zone().clone())
    {
        return Ok(start.timestamp());
    }
    let age = parse_age(text).map_err(|_| {
        CommandError::usage(format!("`{text}` is neither an age nor a day"))
            .hint("write it as `2d`, `12h` or `2026-11-01`")
    })?;
    Ok(host.now().checked_sub(age).unwrap_or(Timestamp::MIN))
}

/// The cells of a session.
struct Row<'a> {
    entry: &'a SessionEntry,
    started: Option<Zoned>,
    this_year: i16,
    persona: &'a str,
    outcome: String,
    time: String,
    cost: String,
    lines: String,
    /// On one line.
    task: String,
}

impl<'a> Row<'a> {
    fn of(entry: &'a SessionEntry, host: &Host, now: Timestamp) -> Row<'a> {
        let started = entry.started_at().and_then(|time| time.parse::<Timestamp>().ok());
        Row {
            entry,
            started: started.map(|time| host.local(time)),
            this_year: host.local(now).year(),
            persona: entry.status.as_ref().map_or("-", |status| &status.persona),
            outcome: outcome(entry),
            time: entry.seconds_until(now).map_or_else(|| "-".to_owned(), amounts::seconds),
            cost: cost(&entry.usage).unwrap_or_else(|| "-".to_owned()),
            lines: lines(entry),
            task: entry.task.as_deref().map_or_else(|| "-".to_owned(), first_line),
        }
    }

    /// As short as it can be understood.
    fn started(&self) -> String {
        let format = |time: &Zoned| {
            let format = if time.year() == self.this_year { "%b %d %H:%M" } else { "%Y-%m-%d" };
            time.strftime(format).to_string()
        };
        self.started.as_ref().map_or_else(|| "-".to_owned(), format)
    }
}

fn wide(rows: &[Row], names: &Names, projects: &Projects, ui: &mut Ui) {
    const PROJECT: usize = 2;
    let mut header = vec!["ID", "STARTED", "PERSONA", "OUTCOME", "TIME", "COST", "LINES", "TASK"];
    if projects.are_shown {
        header.insert(PROJECT, "PROJECT");
    }
    let mut table = Table::new(&header);
    for row in rows {
        let name = names.short(&row.entry.id);
        let started = row.started();
        let mut cells =
            vec![name, &started, row.persona, &row.outcome, &row.time, &row.cost, &row.lines, &row.task];
        if projects.are_shown {
            cells.insert(PROJECT, projects.name(row.entry));
        }
        table.row(cells);
    }
    ui.table(&table);
}

fn narrow(rows: &[Row], names: &Names, projects: &Projects, ui: &mut Ui) {
    let table = Table::new(&["ID", "STARTED", "OUTCOME", "TIME", "COST", "LINES"]);
    // The name and the outcome stay longest.
    let mut table = table.giving_way(&[(5, 0), (4, 0), (3, 0), (1, 0), (2, 12), (0, 6), (2, 0)]);
    for row in rows {
        table.row([
            names.short(&row.entry.id),
            &row.started(),
            &row.outcome,
            &row.time,
            &row.cost,
            &row.lines,
        ]);
    }
    let text = table.render();
    let mut lines = text.lines();
    ui.line(lines.next().unwrap_or_default());
    let room = screen_width().saturating_sub(INDENT.len());
    for (line, row) in lines.zip(rows) {
        ui.line(line);
        let project =
            if projects.are_shown { format!(" in {}", projects.name(row.entry)) } else { String::new() };
        let task = row.entry.task.as_ref().map(|_| format!(": {}", row.task)).unwrap_or_default();
        let about = format!("{}{project}{task}", row.persona);
        ui.line(format!("{INDENT}{DIM}{}{DIM:#}", fitted(&printable(&about), room)));
    }
}

/// For other programs and files: everything, in columns that stay.
fn uncut(rows: &[Row], ui: &mut Ui) {
    let header = ["SESSION", "OUTCOME", "STARTED", "PERSONA", "TIME", "COST", "LINES", "PROJECT", "TASK"];
    let mut table = Table::new(&header);
    for row in rows {
        let started = row.started.as_ref();
        let started = started.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
        let root = row.entry.status.as_ref().map(|status| printable_name(status.root.as_ref()));
        let (started, root) = (started.unwrap_or_else(|| "-".into()), root.unwrap_or_else(|| "-".into()));
        let id = row.entry.id.as_str();
        table.row([
            id,
            &row.outcome,
            &started,
            row.persona,
            &row.time,
            &row.cost,
            &row.lines,
            &root,
            &row.task,
        ]);
    }
    ui.table(&table);
}

/// What sessions are called in a list: the digits at their end, unless others have them, too.
struct Names {
    /// How many sessions have the same.
    counts: HashMap<String, usize>,
}

impl Names {
    fn of(sessions: &Sessions) -> Result<Names> {
        let mut counts = HashMap::new();
        for session in sessions.store.all()? {
            *counts.entry(session.id.short().to_owned()).or_default() += 1;
        }
        Ok(Names { counts })
    }

    fn short<'a>(&self, id: &'a str) -> &'a str {
        let short = short_name(id);
        let is_clear = short.len() >= FEWEST_DIGITS && self.counts.get(short) == Some(&1);
        if is_clear { short } else { id }
    }
}

/// What the projects of a list are called.
struct Projects<'a> {
    /// Whether there are others than the one around the working directory.
    are_shown: bool,
    names: HashMap<&'a Path, String>,
}

impl<'a> Projects<'a> {
    fn of(entries: &'a [SessionEntry], host: &Host) -> Projects<'a> {
        let roots: BTreeSet<&Path> = entries.iter().filter_map(root).collect();
        let mut counts: HashMap<&OsStr, usize> = HashMap::new();
        for name in roots.iter().filter_map(|root| root.file_name()) {
            *counts.entry(name).or_default() += 1;
        }
        let home = host.home_dir();
        // By its last part, unless another one is called the same.
        let name = |root: &Path| match root.file_name().filter(|name| counts.get(name) == Some(&1)) {
            Some(name) => printable_name(Path::new(name)),
            None => match home.as_deref().and_then(|home| root.strip_prefix(home).ok()) {
                Some(below) => printable_name(&Path::new("~").join(below)),
                None => printable_name(root),
            },
        };
        let are_shown = roots.iter().any(|root| !host.cwd.starts_with(root));
        Projects { are_shown, names: roots.into_iter().map(|root| (root, name(root))).collect() }
    }

    fn name(&self, entry: &SessionEntry) -> &str {
        root(entry).and_then(|root| self.names.get(root)).map_or("-", String::as_str)
    }
}

fn root(entry: &SessionEntry) -> Option<&Path> {
    entry.status.as_ref().map(|status| &*status.root)
}

/// `held: check failed`.
pub(super) fn outcome(entry: &SessionEntry) -> String {
    let why = match (entry.outcome, entry.held_because) {
        (SessionOutcome::Held, Some(why)) => format!(": {}", why.text()),
        // Earlier versions noted no reason where it was asked for.
        (SessionOutcome::Held, None) => ": not applied".to_owned(),
        _ => String::new(),
    };
    let live = if entry.live && entry.outcome != SessionOutcome::Running { " (in use)" } else { "" };
    format!("{}{why}{live}", entry.outcome.text())
}

/// What it cost, or the tokens where the harness knows no price.
pub(super) fn cost(usage: &Usage) -> Option<String> {
    let tokens =
        usage.input_tokens.unwrap_or_default().saturating_add(usage.output_tokens.unwrap_or_default());
    match usage.cost_usd {
        Some(cost) => Some(amounts::dollars(cost)),
        None if tokens > 0 => Some(format!("{} tok", amounts::rough(tokens))),
        None => None,
    }
}

fn lines(entry: &SessionEntry) -> String {
    match (entry.changed, entry.added, entry.removed) {
        (0, ..) => "-".to_owned(),
        (changed, 0, 0) => counted(changed, "file"),
        (_, added, removed) => format!("+{added} -{removed}"),
    }
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// `12 sessions, $3.40, 2 held`.
fn sum(entries: &[SessionEntry]) -> String {
    let mut parts = vec![counted(entries.len(), "session")];
    let costs: Vec<f64> = entries.iter().filter_map(|entry| entry.usage.cost_usd).collect();
    if !costs.is_empty() {
        parts.push(amounts::dollars(costs.iter().sum()));
    }
    let held = entries.iter().filter(|entry| entry.outcome == SessionOutcome::Held).count();
    if held > 0 {
        parts.push(format!("{held} held"));
    }
    parts.join(", ")
}

/// How a time is shown where there is room: local, with its offset.
pub(super) fn local(time: &str, host: &Host) -> Option<String> {
    let time = time.parse::<Timestamp>().ok()?;
    Some(host.local(time).strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
}
