//! The laws of installing, updating and uninstalling, tried for every combination of what can be on the three sides.

use super::contents::{Base, Unit, UnitKind};
use super::decide::Way;
use super::decide::{Action, Decision, Existing, OnDisk, among_others, gone, install, uninstall, update};
use super::drift;
use super::lockfile::{Lock, LockedFiles, LockedPack, hash};
use super::settle::settle;
use super::settlement::Settlement;
use super::tree::File;
use std::collections::BTreeMap;

/// What a file may say; `None`: there is no such file.
const SIDES: [Option<&str>; 4] = [None, Some("one"), Some("two"), Some("three")];
const PATHS: [&str; 2] = ["p.json", "p__assets/x.md"];

type Files = BTreeMap<&'static str, &'static str>;

/// Every combination of contents for the two files.
fn all() -> Vec<Files> {
    let mut found = Vec::new();
    for json in SIDES {
        for asset in SIDES {
            let both = PATHS.into_iter().zip([json, asset]);
            found.push(both.filter_map(|(path, text)| Some((path, text?))).collect());
        }
    }
    found
}

fn unit(files: &Files) -> Unit {
    let file = |text: &str| File { bytes: text.as_bytes().into(), executable: false };
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect();
    Unit {
        kind: UnitKind::Persona,
        id: "p".into(),
        files,
        origins: Vec::new(),
        base: Base::None,
        powers: Vec::new(),
    }
}

fn locked(files: &Files) -> LockedPack {
    let hashes: LockedFiles =
        files.iter().map(|(path, text)| ((*path).to_owned(), hash(text.as_bytes()))).collect();
    LockedPack { personas: BTreeMap::from([("p".to_owned(), hashes)]), ..LockedPack::default() }
}

fn look(files: &Files) -> impl Fn(&str) -> OnDisk {
    let files = files.clone();
    move |path| files.get(path).map_or(OnDisk::Nothing, |text| OnDisk::File(hash(text.as_bytes())))
}

/// What is on disk afterwards.
fn applied(disk: &Files, decision: &Decision) -> Files {
    let mut disk = disk.clone();
    for (path, file) in &decision.writes {
        let path = PATHS.into_iter().find(|known| known == path).expect("known");
        let text = SIDES.into_iter().flatten().find(|text| text.as_bytes() == &*file.bytes).expect("known");
        disk.insert(path, text);
    }
    for path in &decision.removes {
        disk.remove(path.as_str());
    }
    disk
}

#[test]
fn an_install_writes_all_of_a_persona_or_nothing_and_over_nothing_of_the_users() {
    for new in all().into_iter().filter(|files| files.contains_key("p.json")) {
        for disk in all() {
            let unit = [unit(&new)];
            let [decision] = &install(&unit, None, Existing::Keep, &look(&disk))[..] else { panic!("one") };
            let after = applied(&disk, decision);
            for (path, text) in &disk {
                assert_eq!(after.get(path), Some(text), "{new:?} over {disk:?}");
            }
            let differs = new.iter().any(|(path, text)| disk.get(path).is_some_and(|here| here != text));
            assert_eq!(decision.action == Action::Skipped, differs, "{new:?} over {disk:?}");
            assert_eq!(decision.changes_files(), after != disk);
            if !differs {
                assert!(new.iter().all(|(path, text)| after.get(path) == Some(text)));
                let again = &install(&unit, None, Existing::Keep, &look(&after))[0];
                assert_eq!((again.action, again.changes_files()), (Action::Unchanged, false));
            }
            let forced = &install(&unit, None, Existing::Overwrite, &look(&disk))[0];
            let after = applied(&disk, forced);
            assert!(new.iter().all(|(path, text)| after.get(path) == Some(text)), "{new:?} over {disk:?}");
        }
    }
}

#[test]
fn an_update_never_touches_what_the_user_changed_and_reaches_the_new_version_otherwise() {
    for base in all() {
        for new in all() {
            for disk in all() {
                let (units, known) = ([unit(&new)], locked(&base));
                let decision = &update(&units, &known, &Settlement::default(), &look(&disk))[0];
                let after = applied(&disk, decision);
                let case = format!("{base:?} -> {new:?} with {disk:?}");
                for path in PATHS {
                    let (before, here) = (base.get(path), disk.get(path));
                    if here != before {
                        assert_eq!(after.get(path), here, "{case}");
                    }
                }
                if decision.action == Action::Conflict {
                    assert_eq!(after, disk, "{case}");
                    assert_eq!(decision.locked.as_ref(), known.personas.get("p"), "{case}");
                } else {
                    assert_eq!(decision.locked.as_ref(), locked(&new).personas.get("p"), "{case}");
                }
                if disk == base {
                    assert_eq!(after, new, "{case}");
                }
                if base == new {
                    assert_eq!(after, disk, "{case}");
                }
            }
        }
    }
}

#[test]
fn what_is_gone_upstream_or_uninstalled_goes_only_where_it_is_the_packs() {
    for base in all() {
        for disk in all() {
            let known = locked(&base);
            let gone = &update(&[], &known, &Settlement::default(), &look(&disk))[0];
            let lock = Lock { schema_version: 1, packs: BTreeMap::from([("k".to_owned(), known.clone())]) };
            let taken = &uninstall("k", &lock, &look(&disk))[0];
            for decision in [gone, taken] {
                let after = applied(&disk, decision);
                for (path, text) in &disk {
                    let is_packs = base.get(path) == Some(text);
                    assert!(is_packs || after.get(path) == Some(text), "{base:?} with {disk:?}");
                }
                if disk == base {
                    assert!(after.is_empty(), "{base:?}");
                }
            }
        }
    }
}

#[test]
fn drift_is_every_difference_and_a_missing_file_is_none() {
    for base in all().into_iter().filter(|files| files.contains_key("p.json")) {
        for new in all() {
            let lines = drift::against(&[unit(&new)], &locked(&base), &look(&base));
            assert_eq!(lines.is_empty(), new == base, "{base:?} {new:?}: {lines:?}");
        }
        assert!(drift::here(&locked(&base), &look(&Files::new())).is_empty());
    }
}

#[test]
fn a_pack_that_replaces_a_persona_owns_it_and_an_empty_pack_is_forgotten() {
    let files: Files = BTreeMap::from([("p.json", "one")]);
    let other: Files = BTreeMap::from([("p.json", "two")]);
    let mut lock = Lock { schema_version: 1, packs: BTreeMap::from([("old".to_owned(), locked(&other))]) };
    let mut decisions = install(&[unit(&files)], None, Existing::Overwrite, &look(&other));
    among_others("new", &lock, &mut decisions);
    assert_eq!(decisions[0].action, Action::Replaced);
    settle(&mut lock, "new", LockedPack::default(), &decisions);
    assert_eq!(lock.packs.keys().collect::<Vec<_>>(), ["new"]);
    let gone = uninstall("new", &lock, &look(&files));
    settle(&mut lock, "new", LockedPack::default(), &gone);
    assert!(lock.packs.is_empty());
}

/// The lock after a decision about the one pack.
fn after(known: &LockedPack, decision: Decision) -> Option<LockedPack> {
    let mut lock = Lock { schema_version: 1, packs: BTreeMap::from([("k".to_owned(), known.clone())]) };
    let pack = LockedPack { resolved: Some("2".into()), ..known.clone() };
    settle(&mut lock, "k", pack, &[decision]);
    lock.packs.remove("k")
}

#[test]
fn an_install_over_an_older_one_replaces_only_what_is_the_packs_and_the_lock_stays_true() {
    for base in all().into_iter().filter(|files| files.contains_key("p.json")) {
        for new in all().into_iter().filter(|files| files.contains_key("p.json")) {
            for disk in all() {
                let case = format!("{base:?} -> {new:?} with {disk:?}");
                let known = locked(&base);
                let mut decisions = install(&[unit(&new)], Some(&known), Existing::Keep, &look(&disk));
                decisions.extend(gone(&[unit(&new)], &known, Way::Install, &look(&disk)));
                let [decision] = <[Decision; 1]>::try_from(decisions).expect("one");
                let now = applied(&disk, &decision);
                for (path, text) in &disk {
                    assert!(base.get(path) == Some(text) || now.get(path) == Some(text), "{case}");
                }
                let is_skipped = decision.action == Action::Skipped;
                let then = after(&known, decision).expect("still locked");
                if is_skipped {
                    assert_eq!(now, disk, "{case}");
                    assert_eq!(
                        (&then.personas, then.behind["p"].resolved.as_ref()),
                        (&known.personas, None),
                        "{case}"
                    );
                } else {
                    assert!(drift::against(&[unit(&new)], &then, &look(&now)).is_empty(), "{case}");
                    assert!(new.iter().all(|(path, text)| now.get(path) == Some(text)), "{case}");
                }
                if disk == base {
                    assert_eq!(now, new, "{case}");
                }
            }
        }
    }
}

#[test]
fn whatever_side_is_taken_the_conflict_is_settled_until_the_pack_changes_again() {
    let sides = [
        (Way::KeepMine, Settlement { mine: Some(Vec::new()), theirs: None }),
        (Way::TakeTheirs, Settlement { mine: None, theirs: Some(vec!["p".into()]) }),
    ];
    let units = |files: &Files| if files.is_empty() { Vec::new() } else { vec![unit(files)] };
    for (way, settlement) in &sides {
        for base in all().into_iter().filter(|files| !files.is_empty()) {
            for new in all() {
                for disk in all() {
                    let case = format!("{way:?}: {base:?} -> {new:?} with {disk:?}");
                    let known = locked(&base);
                    let mut decisions = update(&units(&new), &known, settlement, &look(&disk));
                    let decision = decisions.remove(0);
                    let now = applied(&disk, &decision);
                    if *way == Way::TakeTheirs {
                        let is_packs = |path: &&str| base.contains_key(path) || new.contains_key(path);
                        for path in PATHS {
                            let expected = if is_packs(&path) { new.get(path) } else { disk.get(path) };
                            assert_eq!(now.get(path), expected, "{case}");
                        }
                    } else {
                        let mut own = PATHS.iter().filter(|path| disk.get(*path) != base.get(*path));
                        assert!(own.all(|path| now.get(path) == disk.get(path)), "{case}");
                    }
                    let Some(then) = after(&known, decision) else { continue };
                    assert_eq!(then.behind, BTreeMap::new(), "{case}");
                    assert_eq!(drift::against(&units(&new), &then, &look(&now)), [], "{case}");
                    let plain = Settlement::default();
                    let again = &update(&units(&new), &then, &plain, &look(&now))[0];
                    assert!(!again.action.is_left_alone() && !again.changes_files(), "{case}: {again:?}");
                    let installed = &install(&units(&new), Some(&then), Existing::Keep, &look(&now))[0];
                    assert!(!installed.action.is_left_alone() && !installed.changes_files(), "{case}");
                    // The next change of a file that differs is a conflict.
                    let next: Files = BTreeMap::from([("p.json", "next")]);
                    if now.get("p.json") != new.get("p.json") && new.contains_key("p.json") {
                        let next = [unit(&next)];
                        assert_eq!(
                            update(&next, &then, &plain, &look(&now))[0].action,
                            Action::Conflict,
                            "{case}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_named_goes_before_what_is_meant_by_all() {
    let side = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let mixed = Settlement { mine: side(&[]), theirs: side(&["p", "role:r"]) };
    assert_eq!(mixed.way(UnitKind::Persona, "p"), Way::TakeTheirs);
    assert_eq!(mixed.way(UnitKind::Role, "p"), Way::KeepMine);
    assert_eq!(mixed.way(UnitKind::Role, "r"), Way::TakeTheirs);
    let mixed = Settlement { mine: side(&["p"]), theirs: side(&[]) };
    assert_eq!(mixed.way(UnitKind::Persona, "p"), Way::KeepMine);
    assert_eq!((mixed.way(UnitKind::Persona, "q"), mixed.is_theirs_in_conflict()), (Way::Update, true));
}
