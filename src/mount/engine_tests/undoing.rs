//! An undo compares content, takes back single paths, and can be forced; whatever it takes out can be had again.

use super::laws::expected;
use super::script::Rng;
use super::snapshot::{Node, Snapshot, identities, snapshot};
use super::world::{Home, Run, World, visible};
use crate::mount::CrashPoints;
use crate::mount::apply::journal::{Journal, State};
use crate::mount::apply::{ApplyResult, UndoOutcome, UndoRequest, UndoStatus, redo, undo, undo_with};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn file(text: &str) -> Node {
    Node::File { bytes: text.as_bytes().to_vec(), mode: 0o644 }
}

const DIR: Node = Node::Dir { mode: 0o755 };

/// A bit of everything, applied.
fn applied() -> [Run; 3] {
    let base: Snapshot = [
        ("chmod", file("script")),
        ("d", DIR),
        ("d/f", file("f")),
        ("d/g", file("g")),
        ("edit", file("base")),
        ("gone", file("gone")),
        ("link", Node::Link { target: "edit".into() }),
        ("old-name", file("moved as it is")),
        ("to-dir", file("was a file")),
    ]
    .map(|(path, node)| (PathBuf::from(path), node))
    .into();
    let seen = visible(&base);
    let mut after = seen.clone();
    for gone in ["d", "d/f", "d/g", "gone", "old-name"] {
        after.remove(Path::new(gone));
    }
    after.extend(
        [
            ("chmod", Node::File { bytes: b"script".to_vec(), mode: 0o755 }),
            ("edit", file("agent")),
            ("link", Node::Link { target: "new".into() }),
            ("made", DIR),
            ("made/one", file("one")),
            ("new", file("new")),
            ("new-name", file("moved as it is")),
            ("to-dir", DIR),
            ("to-dir/in", file("in")),
        ]
        .map(|(path, node)| (PathBuf::from(path), node)),
    );
    let world = World { base, seen, after };
    let runs = [
        Run::copied(&world),
        Run::overlaid(&world, &mut Rng::new(5)),
        Run::copied_in(&world, Home::OnAnotherFilesystem),
    ];
    for run in &runs {
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(snapshot(&run.project), world.after);
    }
    runs
}

fn only(run: &Run, paths: &[&str]) -> UndoOutcome {
    undo_like(run, paths, false)
}

fn undo_like(run: &Run, paths: &[&str], force: bool) -> UndoOutcome {
    let request = UndoRequest { only: paths.iter().map(PathBuf::from).collect(), force };
    undo_with(&run.context(&CrashPoints::none()), &request).unwrap()
}

fn undo_all(run: &Run) -> UndoOutcome {
    undo(&run.context(&CrashPoints::none())).unwrap()
}

fn redo_last(run: &Run) -> UndoOutcome {
    redo(&run.context(&CrashPoints::none())).unwrap()
}

fn paths(outcome: &UndoOutcome) -> Vec<&str> {
    outcome.restored.iter().map(|path| path.to_str().unwrap()).collect()
}

fn read(run: &Run, path: &str) -> Option<String> {
    fs::read_to_string(run.project.join(path)).ok()
}

#[test]
fn what_was_touched_or_saved_and_restored_is_undone() {
    type Edit = fn(&Path);
    let edits: [Edit; 3] = [
        |path| {
            fs::File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(std::time::SystemTime::now())
                .unwrap();
        },
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, "something else").unwrap();
            fs::write(path, bytes).unwrap();
        },
        |path| {
            // As an editor saves: another inode.
            fs::copy(path, path.with_extension("tmp~")).unwrap();
            fs::rename(path.with_extension("tmp~"), path).unwrap();
        },
    ];
    for edit in edits {
        for run in applied() {
            for path in ["edit", "new", "made/one", "chmod"] {
                edit(&run.project.join(path));
            }
            fs::remove_file(run.project.join("link")).unwrap();
            symlink("new", run.project.join("link")).unwrap();
            let with_agents = snapshot(&run.project);
            let undone = undo_all(&run);
            assert_eq!((undone.status, &undone.changed[..]), (UndoStatus::Undone, &[][..]));
            assert_eq!(read(&run, "edit").as_deref(), Some("base"));
            assert!(!run.project.join("made").exists());
            assert_eq!(redo_last(&run).status, UndoStatus::Redone);
            assert_eq!(snapshot(&run.project), with_agents);
        }
    }
}

#[test]
fn what_was_edited_since_is_named_and_kept_unless_forced() {
    for path in ["edit", "new", "gone", "link", "chmod"] {
        for run in applied() {
            let full = run.project.join(path);
            match path {
                // Neither the size nor the times tell.
                "edit" => {
                    let modified = fs::metadata(&full).unwrap().modified().unwrap();
                    fs::write(&full, "AGENT").unwrap();
                    fs::File::options().write(true).open(&full).unwrap().set_modified(modified).unwrap();
                }
                "new" => fs::set_permissions(&full, fs::Permissions::from_mode(0o600)).unwrap(),
                "link" => {
                    fs::remove_file(&full).unwrap();
                    symlink("elsewhere", &full).unwrap();
                }
                "chmod" => fs::set_permissions(&full, fs::Permissions::from_mode(0o700)).unwrap(),
                _ => fs::write(&full, "the user's").unwrap(),
            }
            let users = snapshot(&run.project);
            let refused = undo_all(&run);
            assert_eq!((refused.status, &refused.changed[..]), (UndoStatus::Conflict, &[path.into()][..]));
            assert_eq!((&refused.restored[..], snapshot(&run.project)), (&[][..], users.clone()), "{path}");
            let forced = undo_like(&run, &[], true);
            assert_eq!((forced.status, &forced.overwritten[..]), (UndoStatus::Undone, &[path.into()][..]));
            assert!(!run.project.join("made").exists());
            assert_eq!(redo_last(&run).status, UndoStatus::Redone);
            assert_eq!(snapshot(&run.project), users, "{path}: a redo brings the user's version back");
        }
    }
}

#[test]
fn what_somebody_took_back_by_hand_is_not_in_the_way() {
    for run in applied() {
        fs::write(run.project.join("edit"), "base").unwrap();
        fs::write(run.project.join("gone"), "gone").unwrap();
        fs::remove_file(run.project.join("new")).unwrap();
        fs::create_dir(run.project.join("d")).unwrap();
        fs::set_permissions(run.project.join("chmod"), fs::Permissions::from_mode(0o644)).unwrap();
        let mine = fs::metadata(run.project.join("edit")).unwrap().ino();
        assert_eq!(undo_all(&run).status, UndoStatus::Undone);
        assert_eq!(fs::metadata(run.project.join("edit")).unwrap().ino(), mine, "it is left alone");
        assert_eq!(read(&run, "d/f").as_deref(), Some("f"));
        assert_eq!(read(&run, "old-name").as_deref(), Some("moved as it is"));
        assert_eq!(undo_all(&run).status, UndoStatus::Nothing);
    }
}

#[test]
fn an_edit_of_a_file_whose_mode_was_changed_stays() {
    for run in applied() {
        fs::write(run.project.join("chmod"), "script with an edit").unwrap();
        assert_eq!(undo_all(&run).status, UndoStatus::Undone);
        assert_eq!(read(&run, "chmod").as_deref(), Some("script with an edit"));
        assert_eq!(fs::metadata(run.project.join("chmod")).unwrap().permissions().mode() & 0o777, 0o644);
    }
}

#[test]
fn single_paths_are_undone_and_the_rest_later() {
    for run in applied() {
        let with_agents = snapshot(&run.project);
        fs::write(run.project.join("new"), "edited since").unwrap();
        let first = only(&run, &["edit"]);
        assert_eq!((first.status, paths(&first)), (UndoStatus::Undone, vec!["edit"]));
        assert_eq!((first.remaining, first.earlier), (13, 0));
        assert_eq!((read(&run, "edit").as_deref(), read(&run, "gone")), (Some("base"), None));
        // What is edited elsewhere is in nobody's way, and the same path is not undone twice.
        let again = only(&run, &["edit"]);
        assert_eq!((again.status, &again.unknown[..]), (UndoStatus::Nothing, &["edit".into()][..]));
        // A file needs its directory; a move is one thing.
        assert_eq!(paths(&only(&run, &["d/f"])), ["d", "d/f"]);
        assert_eq!((read(&run, "d/f").as_deref(), read(&run, "d/g")), (Some("f"), None));
        assert_eq!(paths(&only(&run, &["new-name"])), ["new-name", "old-name"]);
        assert_eq!(read(&run, "old-name").as_deref(), Some("moved as it is"));
        let two = only(&run, &["to-dir", "no-such"]);
        assert_eq!((paths(&two), &two.unknown[..]), (vec!["to-dir", "to-dir/in"], &["no-such".into()][..]));
        assert_eq!(read(&run, "to-dir").as_deref(), Some("was a file"));
        // The last undo first.
        assert_eq!(paths(&redo_last(&run)), ["to-dir", "to-dir/in"]);
        assert_eq!(read(&run, "to-dir/in").as_deref(), Some("in"));
        // All that is left, in one step, with what was redone.
        let refused = undo_all(&run);
        assert_eq!((refused.status, &refused.changed[..]), (UndoStatus::Conflict, &["new".into()][..]));
        assert_eq!(read(&run, "to-dir/in").as_deref(), Some("in"), "nothing was touched");
        fs::write(run.project.join("new"), "new").unwrap();
        let rest = undo_all(&run);
        assert_eq!((rest.status, rest.remaining, rest.earlier), (UndoStatus::Undone, 0, 0));
        assert_eq!(read(&run, "to-dir").as_deref(), Some("was a file"));
        assert!(!run.project.join("made").exists() && !run.project.join("new").exists());
        assert_eq!(undo_all(&run).status, UndoStatus::Nothing);
        while redo_last(&run).status == UndoStatus::Redone {}
        assert_eq!(snapshot(&run.project), with_agents);
        let applies = |journal: &Journal| journal.purpose.applies() && journal.state == State::Done;
        assert!(Journal::all(&run.session).unwrap().iter().filter(|journal| applies(journal)).count() > 1);
        assert_eq!(undo_all(&run).earlier, 0, "it is one apply still");
        assert_eq!(undo_all(&run).status, UndoStatus::Nothing);
    }
}

#[test]
fn one_half_of_a_move_takes_the_other_from_either_side() {
    for half in ["old-name", "new-name"] {
        for run in applied() {
            assert_eq!(paths(&only(&run, &[half])), ["new-name", "old-name"]);
        }
    }
}

#[test]
fn what_is_in_a_directory_of_the_agents_is_not_lost_even_by_force() {
    for run in applied() {
        fs::write(run.project.join("made/mine"), "mine").unwrap();
        let undone = undo_all(&run);
        assert_eq!((undone.status, &undone.kept_directories[..]), (UndoStatus::Undone, &["made".into()][..]));
        assert_eq!(read(&run, "made/mine").as_deref(), Some("mine"));
        assert_eq!(redo_last(&run).status, UndoStatus::Redone);
        // Here a file would have to take the directory's place.
        fs::write(run.project.join("to-dir/mine"), "mine").unwrap();
        let before = snapshot(&run.project);
        for force in [false, true] {
            let refused = undo_like(&run, &[], force);
            assert_eq!(
                (refused.status, &refused.changed[..]),
                (UndoStatus::Conflict, &["to-dir".into()][..])
            );
            assert_eq!(snapshot(&run.project), before);
        }
        assert_eq!(only(&run, &["made", "edit"]).status, UndoStatus::Undone);
    }
}

#[test]
fn a_directory_that_the_user_removed_is_made_for_what_comes_back() {
    let base: Snapshot = [("d", DIR), ("d/f", file("f")), ("d/g", file("g"))]
        .map(|(path, node)| (PathBuf::from(path), node))
        .into();
    let mut after = base.clone();
    after.remove(Path::new("d/f"));
    let world = World { seen: base.clone(), base, after };
    for run in [Run::copied(&world), Run::overlaid(&world, &mut Rng::new(1))] {
        assert_eq!(run.apply().status, ApplyResult::Applied);
        fs::rename(run.project.join("d"), run.project.join("e")).unwrap();
        assert_eq!(undo_all(&run).status, UndoStatus::Undone);
        assert_eq!(read(&run, "d/f").as_deref(), Some("f"));
        assert_eq!(read(&run, "e/g").as_deref(), Some("g"));
    }
}

/// Journals of earlier versions have no hashes.
#[test]
fn without_a_hash_the_stats_decide() {
    for run in applied() {
        for mut journal in Journal::all(&run.session).unwrap() {
            journal.operations.iter_mut().for_each(|operation| operation.written = None);
            journal.write(&run.session, false).unwrap();
        }
        let full = run.project.join("edit");
        fs::write(&full, "AGENT").unwrap();
        fs::write(&full, "agent").unwrap();
        assert_eq!(undo_all(&run).changed, [PathBuf::from("edit").into()]);
        assert_eq!(only(&run, &["new", "gone"]).status, UndoStatus::Undone);
    }
}

/// Any paths, then the rest: each path is as before or as applied, and at the end all are as before, the very files.
#[test]
fn any_paths_and_then_the_rest_come_to_a_whole_undo() {
    let mut tried = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let world = World::generate(&mut rng);
        let Some(expected) = expected(&world) else { continue };
        for run in [Run::copied(&world), Run::overlaid(&world, &mut rng)] {
            let (before, inodes) = (snapshot(&run.project), identities(&run.project));
            if run.apply().status != ApplyResult::Applied {
                continue;
            }
            let journal = &Journal::all(&run.session).unwrap()[0];
            let all: Vec<PathBuf> =
                journal.operations.iter().map(|operation| operation.path.0.clone()).collect();
            let mut steps = 0;
            for _ in 0..3 {
                let named: Vec<PathBuf> =
                    (0..=rng.below(3)).map(|_| rng.pick(&all).unwrap().clone()).collect();
                let was = snapshot(&run.project);
                let request = UndoRequest { only: named.clone(), force: false };
                let undone = undo_with(&run.context(&CrashPoints::none()), &request).unwrap();
                let now = snapshot(&run.project);
                assert!(undone.status != UndoStatus::Conflict, "seed {seed}: {named:?} {undone:?}");
                if undone.status == UndoStatus::Nothing {
                    continue;
                }
                steps += 1;
                for path in all.iter().filter(|path| named.iter().any(|named| path.starts_with(named))) {
                    let kept = undone.kept_directories.iter().any(|kept| kept.0 == *path);
                    assert!(kept || now.get(path) == before.get(path), "seed {seed}: {}", path.display());
                }
                for path in was.keys().chain(now.keys()) {
                    let is_restored = undone.restored.iter().any(|restored| restored.0 == *path);
                    assert!(is_restored || was.get(path) == now.get(path), "seed {seed}: {}", path.display());
                }
                if rng.one_in(3) {
                    assert_eq!(redo_last(&run).status, UndoStatus::Redone, "seed {seed}");
                    assert_eq!(snapshot(&run.project), was, "seed {seed}");
                    steps -= 1;
                }
            }
            let rest = undo_all(&run);
            assert!(rest.status != UndoStatus::Conflict, "seed {seed}: {rest:?}");
            steps += usize::from(rest.status == UndoStatus::Undone);
            assert_eq!(snapshot(&run.project), before, "seed {seed}");
            assert_eq!(identities(&run.project), inodes, "seed {seed}: the very files");
            for _ in 0..steps {
                assert_eq!(redo_last(&run).status, UndoStatus::Redone, "seed {seed}");
            }
            assert_eq!(redo_last(&run).status, UndoStatus::Nothing, "seed {seed}");
            assert_eq!(snapshot(&run.project), expected, "seed {seed}");
            assert!(run.review().changes.is_empty(), "seed {seed}: applied is applied");
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried}");
}
