//! Holds the order of rooms in the design: who may use whom, and what must not touch the world.

mod source;
mod source_tests;

use source::{Program, SourceFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// A room may use the rooms before it. `lib` starts the program and may use all of them.
const ROOMS: [&str; 25] = [
    "host",
    "exit",
    "error",
    "model",
    "tool",
    "git",
    "remote",
    "files",
    "load",
    "rules",
    "resolve",
    "workforce",
    "harness",
    "plan",
    "convert",
    "skills",
    "pack",
    "mount",
    "session",
    "launch",
    "run",
    "work",
    "ui",
    "cli",
    "commands",
];

/// What the rules do not allow and the program needs, each with the reason. One that is not needed fails the test.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("print: host names std::io::stderr", "the host says whether it is a terminal"),
    (
        "process: mount names std::env::var_os",
        "the mount has processes of its own, and hands its environment on",
    ),
    (
        "process: tool names std::env::var_os",
        "what a program outside takes over of the environment is cleaned, in whatever encoding it is",
    ),
    ("process: git names std::env::vars_os", "git in a mount must not take settings from the environment"),
];

/// The rooms without files, environment, clock and processes.
const PURE: [&str; 5] = ["model", "rules", "resolve", "plan", "convert"];

/// A pure room, and the part of it that touches the world.
const PURE_BUT_FOR: (&str, &str) = ("work", "work/cycle/");

/// What a pure room has no business with.
const WORLD: [&str; 16] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::io",
    "std::net",
    "std::os::unix::fs",
    "std::thread",
    "std::time::SystemTime",
    "std::time::Instant",
    "fs_err",
    "jiff",
    "nix",
    "rustix",
    "tempfile",
    "ignore::Walk",
    "ignore::WalkBuilder",
];

/// Methods of paths that ask the disk.
const DISK_METHODS: [&str; 9] = [
    "exists",
    "try_exists",
    "is_file",
    "is_dir",
    "is_symlink",
    "canonicalize",
    "read_dir",
    "symlink_metadata",
    "read_link",
];

/// Read once for all rules.
static PROGRAM: LazyLock<Program> =
    LazyLock::new(|| Program::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));

/// Violations of a rule, with where they are. They must be exactly those that are listed for it.
#[track_caller]
fn check(rule: &str, found: &BTreeMap<String, BTreeSet<String>>) {
    let listed: BTreeSet<String> = EXCEPTIONS
        .iter()
        .map(|(violation, _)| *violation)
        .filter_map(|violation| violation.strip_prefix(&format!("{rule}: ")).map(str::to_owned))
        .collect();
    let new: Vec<_> = found.iter().filter(|(violation, _)| !listed.contains(*violation)).collect();
    let stale: Vec<_> = listed.iter().filter(|violation| !found.contains_key(*violation)).collect();
    assert!(new.is_empty(), "{rule}: not allowed: {new:#?}");
    assert!(stale.is_empty(), "{rule}: listed and not needed any more, take it out: {stale:#?}");
}

/// Collects what a rule finds in files.
fn violations<T: IntoIterator<Item = (String, String)>>(
    find: impl Fn(&SourceFile) -> T,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &PROGRAM.files {
        for (violation, place) in find(file) {
            found.entry(violation).or_default().insert(place);
        }
    }
    found
}

/// The paths of other crates that start with one of these, as (violation, place).
fn named(file: &SourceFile, prefixes: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for named in file.uses.iter().filter(|named| !named.is_ours) {
        let path = named.path.join("::");
        for prefix in prefixes {
            if path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")) {
                found.push((
                    format!("{} names {prefix}", file.room()),
                    format!("{}:{}", file.path, named.line),
                ));
            }
        }
    }
    found
}

#[test]
fn every_room_is_in_the_order_and_every_name_in_the_order_is_a_room() {
    let rooms: BTreeSet<&str> =
        PROGRAM.files.iter().map(SourceFile::room).filter(|room| *room != "lib").collect();
    let order = BTreeSet::from(ROOMS);
    let missing = order.difference(&rooms).map(|room| format!("{room} is missing"));
    let unknown = rooms.difference(&order).map(|room| format!("{room} is not in the order"));
    check("rooms", &missing.chain(unknown).map(|violation| (violation, BTreeSet::new())).collect());
}

#[test]
fn a_room_uses_only_rooms_before_it() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    check(
        "order",
        &violations(|file| {
            let from = place(file.room());
            let later = file.uses.iter().filter(|named| named.is_ours).filter_map(move |named| {
                let to = place(named.path.first()?)?;
                from.is_some_and(|from| from < to).then(|| {
                    (
                        format!("{} uses {}", file.room(), named.path[0]),
                        format!("{}:{}", file.path, named.line),
                    )
                })
            });
            later.collect::<Vec<_>>()
        }),
    );
}

/// Below every module, those that it consists of must not use each other in a circle, neither files nor folders; what a
/// `mod.rs` itself says and uses is left aside.
#[test]
fn modules_beside_each_other_do_not_use_each_other_in_a_circle() {
    let mut edges: BTreeMap<&'static [String], BTreeSet<&'static [String]>> = BTreeMap::new();
    for file in &PROGRAM.files {
        for named in file.uses.iter().filter(|named| named.is_ours) {
            let to = &PROGRAM.files[PROGRAM.target(&named.path)];
            let common = file.module.iter().zip(&to.module).take_while(|(a, b)| a == b).count();
            if common > 0 && common < file.module.len() && common < to.module.len() {
                edges.entry(&file.module[..=common]).or_default().insert(&to.module[..=common]);
            }
        }
    }
    let reachable = |start: &'static [String]| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![start]);
        while let Some(at) = waiting.pop() {
            waiting.extend(edges.get(at).into_iter().flatten().filter(|next| seen.insert(**next)));
        }
        seen
    };
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for at in edges.keys().filter(|at| reachable(at).contains(**at)) {
        let circle: Vec<&[String]> =
            reachable(at).into_iter().filter(|other| reachable(other).contains(*at)).collect();
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        let inner = circle.iter().flat_map(|from| {
            let to = edges[from].iter().filter(|to| circle.contains(to));
            to.map(|to| format!("{} -> {}", from.join("::"), to.join("::")))
        });
        found.entry(names.join(", ")).or_default().extend(inner.collect::<Vec<_>>());
    }
    check("circle", &found);
}

#[test]
fn pure_rooms_do_not_touch_the_world() {
    check(
        "pure",
        &violations(|file| {
            let is_harness_plan = file.room() == "harness" && file.path.ends_with("/plan.rs");
            let (room, part) = PURE_BUT_FOR;
            let is_pure_part = file.room() == room && !file.path.contains(part);
            if !PURE.contains(&file.room()) && !is_harness_plan && !is_pure_part {
                return Vec::new();
            }
            let methods = DISK_METHODS.iter().filter(|method| file.methods.contains(**method));
            let methods =
                methods.map(|method| (format!("{} calls {method}", file.room()), file.path.clone()));
            let purposes = named(file, &WORLD);
            methods.chain(purposes).collect()
        }),
    );
}

#[test]
fn clap_stays_in_the_command_line() {
    check(
        "clap",
        &violations(|file| {
            let may = ["cli", "commands", "ui"].contains(&file.room());
            if may { Vec::new() } else { named(file, &["clap", "clap_complete", "clap_mangen"]) }
        }),
    );
}

#[test]
fn only_the_ui_prints() {
    check(
        "print",
        &violations(|file| {
            if file.room() == "ui" {
                return Vec::new();
            }
            let macros = ["print", "println", "eprint", "eprintln", "dbg"].into_iter();
            let macros = macros.filter(|name| file.macros.contains(*name));
            let macros = macros.map(|name| (format!("{} calls {name}!", file.room()), file.path.clone()));
            macros
                .chain(named(
                    file,
                    &["std::io::stdout", "std::io::stderr", "anstream::stdout", "anstream::stderr"],
                ))
                .collect()
        }),
    );
}

#[test]
fn only_the_host_reads_the_process() {
    const STATE: [&str; 9] = [
        "std::env::var",
        "std::env::var_os",
        "std::env::vars",
        "std::env::vars_os",
        "std::env::current_dir",
        "std::env::args_os",
        "std::time::SystemTime::now",
        "jiff::Timestamp::now",
        "jiff::Zoned::now",
    ];
    check(
        "process",
        &violations(|file| if file.room() == "host" { Vec::new() } else { named(file, &STATE) }),
    );
}

#[test]
fn commands_do_not_run_anything_themselves() {
    check(
        "engine",
        &violations(|file| {
            if file.room() != "commands" {
                return Vec::new();
            }
            let engine: [&[&str]; 3] = [&["launch"], &["mount", "view"], &["mount", "process"]];
            let mut found: Vec<(String, String)> = Vec::new();
            for named in file.uses.iter().filter(|named| named.is_ours) {
                for room in engine.iter().filter(|room| {
                    named.path.len() >= room.len() && named.path.iter().zip(room.iter()).all(|(a, b)| a == b)
                }) {
                    found.push((
                        format!("commands names {}", room.join("::")),
                        format!("{}:{}", file.path, named.line),
                    ));
                }
            }
            if file.identifiers.contains("SignalInbox") {
                found.push(("commands names SignalInbox".to_owned(), file.path.clone()));
            }
            found
        }),
    );
}

#[test]
fn rooms_before_the_commands_have_errors_of_their_own() {
    check(
        "errors",
        &violations(|file| {
            let may = ["error", "ui", "cli", "commands", "lib"].contains(&file.room());
            let names = !may && file.identifiers.contains("CommandError");
            names.then(|| (format!("{} names CommandError", file.room()), file.path.clone()))
        }),
    );
}
