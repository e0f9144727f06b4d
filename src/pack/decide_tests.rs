//! The rules of installing, updating and uninstalling, for every combination of contents on the three sides.

use super::contents::{Base, Unit, UnitKind};
use super::decide::{
    Action, Decision, Existing, OnDisk, install, removed_from_pack, respect_other_packs, uninstall, update,
};
use super::drift;
use super::lockfile::{Lock, LockedFiles, LockedPack, hash};
use super::policy::{ConflictChoice, Policy, takes_theirs_in_conflicts, update_policy};
use super::record::record_decisions;
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

fn state(files: &Files) -> impl Fn(&str) -> OnDisk {
    let files = files.clone();
    move |path| files.get(path).map_or(OnDisk::Missing, |text| OnDisk::File(hash(text.as_bytes())))
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
            let [decision] = &install(&unit, None, Existing::Keep, &state(&disk))[..] else { panic!("one") };
            let after = applied(&disk, decision);
            for (path, text) in &disk {
                assert_eq!(after.get(path), Some(text), "{new:?} over {disk:?}");
            }
            let differs = new.iter().any(|(path, text)| disk.get(path).is_some_and(|here| here != text));
            assert_eq!(decision.action == Action::Skipped, differs, "{new:?} over {disk:?}");
            assert_eq!(decision.changes_files(), after != disk);
            if !differs {
                assert!(new.iter().all(|(path, text)| after.get(path) == Some(text)));
                let again = &install(&unit, None, Existing::Keep, &state(&after))[0];
                assert_eq!((again.action, again.changes_files()), (Action::Unchanged, false));
            }
            let forced = &install(&unit, None, Existing::Overwrite, &state(&disk))[0];
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
                let decision = &update(&units, &known, None, &state(&disk))[0];
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
fn removed_or_uninstalled_files_go_only_where_the_pack_installed_them() {
    for base in all() {
        for disk in all() {
            let known = locked(&base);
            let gone = &update(&[], &known, None, &state(&disk))[0];
            let lock = Lock { schema_version: 1, packs: BTreeMap::from([("k".to_owned(), known.clone())]) };
            let taken = &uninstall("k", &lock, &state(&disk))[0];
            for decision in [gone, taken] {
                let after = applied(&disk, decision);
                for (path, text) in &disk {
                    let is_from_pack = base.get(path) == Some(text);
                    assert!(is_from_pack || after.get(path) == Some(text), "{base:?} with {disk:?}");
                }
                if disk == base {
                    assert!(after.is_empty(), "{base:?}");
                }
            }
        }
    }
}

#[test]
fn drift_is_every_difference_but_a_missing_file() {
    for base in all().into_iter().filter(|files| files.contains_key("p.json")) {
        for new in all() {
            let lines = drift::in_pack(&[unit(&new)], &locked(&base), &state(&base));
            assert_eq!(lines.is_empty(), new == base, "{base:?} {new:?}: {lines:?}");
        }
        assert!(drift::here(&locked(&base), &state(&Files::new())).is_empty());
    }
}

#[test]
fn a_pack_that_replaces_a_persona_owns_it_and_an_empty_pack_is_forgotten() {
    let files: Files = BTreeMap::from([("p.json", "one")]);
    let other: Files = BTreeMap::from([("p.json", "two")]);
    let mut lock = Lock { schema_version: 1, packs: BTreeMap::from([("old".to_owned(), locked(&other))]) };
    let mut decisions = install(&[unit(&files)], None, Existing::Overwrite, &state(&other));
    respect_other_packs("new", &lock, &mut decisions);
    assert_eq!(decisions[0].action, Action::Replaced);
    record_decisions(&mut lock, "new", LockedPack::default(), &decisions);
    assert_eq!(lock.packs.keys().collect::<Vec<_>>(), ["new"]);
    let gone = uninstall("new", &lock, &state(&files));
    record_decisions(&mut lock, "new", LockedPack::default(), &gone);
    assert!(lock.packs.is_empty());
}

/// The lock after a decision about the one pack.
fn after(known: &LockedPack, decision: Decision) -> Option<LockedPack> {
    let mut lock = Lock { schema_version: 1, packs: BTreeMap::from([("k".to_owned(), known.clone())]) };
    let pack = LockedPack { resolved: Some("2".into()), ..known.clone() };
    record_decisions(&mut lock, "k", pack, &[decision]);
    lock.packs.remove("k")
}

#[test]
fn an_install_over_an_older_one_replaces_only_the_packs_files_and_the_lock_stays_true() {
    for base in all().into_iter().filter(|files| files.contains_key("p.json")) {
        for new in all().into_iter().filter(|files| files.contains_key("p.json")) {
            for disk in all() {
                let case = format!("{base:?} -> {new:?} with {disk:?}");
                let known = locked(&base);
                let mut decisions = install(&[unit(&new)], Some(&known), Existing::Keep, &state(&disk));
                decisions.extend(removed_from_pack(&[unit(&new)], &known, Policy::Install, &state(&disk)));
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
                    assert!(drift::in_pack(&[unit(&new)], &then, &state(&now)).is_empty(), "{case}");
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
fn either_choice_ends_the_conflict_until_the_pack_changes_again() {
    let sides = [
        (Policy::KeepMine, ConflictChoice::KeepMine(Vec::new())),
        (Policy::TakeTheirs, ConflictChoice::TakeTheirs(vec!["p".into()])),
    ];
    let units = |files: &Files| if files.is_empty() { Vec::new() } else { vec![unit(files)] };
    for (policy, choice) in &sides {
        for base in all().into_iter().filter(|files| !files.is_empty()) {
            for new in all() {
                for disk in all() {
                    let case = format!("{policy:?}: {base:?} -> {new:?} with {disk:?}");
                    let known = locked(&base);
                    let mut decisions = update(&units(&new), &known, Some(choice), &state(&disk));
                    let decision = decisions.remove(0);
                    let now = applied(&disk, &decision);
                    if *policy == Policy::TakeTheirs {
                        let is_from_pack = |path: &&str| base.contains_key(path) || new.contains_key(path);
                        for path in PATHS {
                            let expected = if is_from_pack(&path) { new.get(path) } else { disk.get(path) };
                            assert_eq!(now.get(path), expected, "{case}");
                        }
                    } else {
                        let mut own = PATHS.iter().filter(|path| disk.get(*path) != base.get(*path));
                        assert!(own.all(|path| now.get(path) == disk.get(path)), "{case}");
                    }
                    let Some(then) = after(&known, decision) else { continue };
                    assert_eq!(then.behind, BTreeMap::new(), "{case}");
                    assert_eq!(drift::in_pack(&units(&new), &then, &state(&now)), [], "{case}");
                    let again = &update(&units(&new), &then, None, &state(&now))[0];
                    assert!(!again.action.is_left_alone() && !again.changes_files(), "{case}: {again:?}");
                    let installed = &install(&units(&new), Some(&then), Existing::Keep, &state(&now))[0];
                    assert!(!installed.action.is_left_alone() && !installed.changes_files(), "{case}");
                    // The next change of a file that differs is a conflict.
                    let next: Files = BTreeMap::from([("p.json", "next")]);
                    if now.get("p.json") != new.get("p.json") && new.contains_key("p.json") {
                        let next = [unit(&next)];
                        assert_eq!(
                            update(&next, &then, None, &state(&now))[0].action,
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
fn a_named_persona_or_role_is_chosen_and_no_other() {
    let labels = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mine = ConflictChoice::KeepMine(labels(&["p"]));
    let policy = |choice, kind, id| update_policy(Some(choice), kind, id);
    assert_eq!(policy(&mine, UnitKind::Persona, "p"), Policy::KeepMine);
    assert_eq!(policy(&mine, UnitKind::Role, "p"), Policy::Update);
    let theirs = ConflictChoice::TakeTheirs(labels(&["role:r"]));
    assert_eq!(policy(&theirs, UnitKind::Role, "r"), Policy::TakeTheirs);
    assert_eq!(policy(&theirs, UnitKind::Persona, "r"), Policy::Update);
    assert!(!takes_theirs_in_conflicts(Some(&theirs)));
    let all = ConflictChoice::TakeTheirs(Vec::new());
    assert_eq!(policy(&all, UnitKind::Persona, "p"), Policy::Update);
    assert!(takes_theirs_in_conflicts(Some(&all)));
}
