//! The user works on the project while the agent does, and while its work is being applied: every edit of the user's is
//! kept, and where both touched a path in ways that cannot be brought together it is a conflict.

use super::snapshot::{Node, Snapshot, snapshot};
use super::world::{Run, World, visible};
use crate::mount::CrashPoints;
use crate::mount::apply::{ApplyResult, Selection, apply, undo};
use crate::mount::changes::Ignored;
use crate::mount::changes::compare::ConflictReason;
use pretty_assertions::assert_eq;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn file(text: &str) -> Node {
    Node::File { bytes: text.as_bytes().to_vec(), mode: 0o644 }
}

fn link(target: &str) -> Node {
    Node::Link { target: target.into() }
}

const DIR: Node = Node::Dir { mode: 0o755 };

fn tree(nodes: &[(&str, Node)]) -> Snapshot {
    nodes.iter().map(|(path, node)| (PathBuf::from(path), node.clone())).collect()
}

fn base() -> Snapshot {
    tree(&[
        ("d", DIR),
        ("d/f", file("base")),
        ("d/g", file("base")),
        ("d/sub", DIR),
        ("d/sub/f", file("base")),
        ("empty", DIR),
        ("f", file("base")),
        ("g", file("base")),
        ("l", link("f")),
    ])
}

fn world(after: impl FnOnce(&mut Snapshot)) -> World {
    let base = base();
    let seen = visible(&base);
    let mut changed = seen.clone();
    after(&mut changed);
    World { base, seen, after: changed }
}

type Edit = Box<dyn FnOnce(&mut Snapshot)>;

fn set(path: &'static str, node: Node) -> Edit {
    Box::new(move |tree| {
        tree.retain(|at, _| !at.starts_with(path));
        tree.insert(path.into(), node);
    })
}

fn gone(path: &'static str) -> Edit {
    Box::new(move |tree| tree.retain(|at, _| !at.starts_with(path)))
}

type User = fn(&Path);

/// What a user does to a path, of every kind.
fn user_edits() -> Vec<(&'static str, User)> {
    fn save(path: &Path) {
        std::fs::write(path, "user").unwrap();
    }
    fn same_size_and_time(path: &Path) {
        let old = std::fs::metadata(path).unwrap();
        std::fs::write(path, "USER").unwrap();
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(old.modified().unwrap())
            .unwrap();
    }
    fn save_by_rename(path: &Path) {
        let temporary = path.with_extension("tmp~");
        std::fs::write(&temporary, "user").unwrap();
        std::fs::rename(&temporary, path).unwrap();
    }
    fn delete(path: &Path) {
        std::fs::remove_file(path).unwrap();
    }
    fn to_link(path: &Path) {
        std::fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("../outside/file", path).unwrap();
    }
    fn to_dir(path: &Path) {
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("mine"), "user").unwrap();
    }
    fn chmod(path: &Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    vec![
        ("save", save),
        ("same size and time", same_size_and_time),
        ("save by rename", save_by_rename),
        ("delete", delete),
        ("becomes a link", to_link),
        ("becomes a directory", to_dir),
        ("chmod", chmod),
    ]
}

/// Every pair of what a user and an agent can do to one file, in the root and in a directory.
#[test]
fn whatever_user_and_agent_do_to_one_file_the_user_loses_nothing() {
    for path in ["f", "d/sub/f"] {
        for (name, user) in user_edits() {
            let agents: Vec<(&str, Edit)> = vec![
                ("edits", set(path, file("agent"))),
                ("deletes", gone(path)),
                ("links", set(path, link("elsewhere"))),
                ("makes a directory", set(path, DIR)),
                ("chmods", set(path, Node::File { bytes: b"base".to_vec(), mode: 0o755 })),
            ];
            for (agent_name, agent) in agents {
                let world = world(agent);
                for run in [Run::copied(&world), Run::overlaid(&world, &mut super::script::Rng::new(7))] {
                    user(&run.project.join(path));
                    let before = snapshot(&run.project);
                    let outcome = run.apply();
                    let what = format!("{path}: user: {name}, agent: {agent_name}, {:?}", run.record.backend);
                    let same = matches!(
                        (name, agent_name),
                        ("delete", "deletes") | ("becomes a directory", "makes a directory")
                    );
                    // The mode of one and the content of the other.
                    let saves = name.starts_with("sa") && agent_name == "chmods";
                    let combined = saves || (name == "chmod" && agent_name == "edits");
                    let expected = match (same, combined) {
                        (true, _) => ApplyResult::Nothing,
                        (false, true) => ApplyResult::Applied,
                        (false, false) => ApplyResult::Conflict,
                    };
                    assert_eq!(outcome.status, expected, "{what}");
                    let mut project = before.clone();
                    if let (true, Some(Node::File { bytes, mode })) =
                        (combined, project.get_mut(Path::new(path)))
                    {
                        if saves {
                            *mode = 0o755;
                        } else {
                            *bytes = b"agent".to_vec();
                        }
                    }
                    assert_eq!(snapshot(&run.project), project, "{what}");
                    if combined {
                        undo(&run.context(&CrashPoints::none())).unwrap();
                        assert_eq!(snapshot(&run.project), before, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn edits_of_the_user_elsewhere_are_kept_and_the_agents_applied() {
    for (name, user) in user_edits() {
        let world = world(set("g", file("agent")));
        for run in [Run::copied(&world), Run::overlaid(&world, &mut super::script::Rng::new(7))] {
            user(&run.project.join("d/f"));
            std::fs::write(run.project.join("d/mine"), "user").unwrap();
            let mut expected = snapshot(&run.project);
            expected.insert("g".into(), file("agent"));
            assert_eq!(run.apply().status, ApplyResult::Applied, "{name}");
            assert_eq!(snapshot(&run.project), expected, "{name}");
        }
    }
}

#[test]
fn both_made_the_same_edit() {
    let world = world(set("f", file("same")));
    let run = Run::copied(&world);
    std::fs::write(run.project.join("f"), "same").unwrap();
    assert_eq!(run.apply().status, ApplyResult::Nothing);
}

#[test]
fn directories_that_the_user_touched() {
    // The user removed the directory that the agent adds a file to.
    let adds = world(|tree| drop(tree.insert("d/sub/new".into(), file("agent"))));
    let run = Run::copied(&adds);
    std::fs::remove_dir_all(run.project.join("d/sub")).unwrap();
    let outcome = run.apply();
    assert_eq!(outcome.remaining[0].conflict, Some(ConflictReason::ParentGone));
    // ... or put a symlink to the outside in its place.
    let run = Run::copied(&adds);
    std::fs::remove_dir_all(run.project.join("d/sub")).unwrap();
    std::os::unix::fs::symlink("../../outside", run.project.join("d/sub")).unwrap();
    assert_eq!(run.apply().status, ApplyResult::Conflict);
    assert!(!run.outside.join("new").exists());
    // Swapped directories: same sizes and times, other inodes.
    let run = Run::copied(&world(set("d/f", file("agent"))));
    std::fs::rename(run.project.join("d"), run.project.join("d.bak")).unwrap();
    std::fs::create_dir(run.project.join("d")).unwrap();
    std::fs::write(run.project.join("d/f"), "user").unwrap();
    let times = std::fs::metadata(run.project.join("d.bak/f")).unwrap().modified().unwrap();
    let swapped = std::fs::File::options().write(true).open(run.project.join("d/f")).unwrap();
    swapped.set_modified(times).unwrap();
    assert_eq!(run.apply().status, ApplyResult::Conflict);
    // The same with the same content is none.
    std::fs::copy(run.project.join("d.bak/f"), run.project.join("d/f")).unwrap();
    assert_eq!(run.apply().status, ApplyResult::Applied);
    // The agent removed a directory in which the user made a file: that file and its directory stay.
    let run = Run::copied(&world(gone("d")));
    std::fs::write(run.project.join("d/sub/mine"), "user").unwrap();
    let outcome = run.apply();
    assert_eq!(outcome.status, ApplyResult::Applied);
    assert_eq!(outcome.kept_directories, ["d".into(), "d/sub".into()]);
    let left: Vec<PathBuf> = snapshot(&run.project.join("d")).into_keys().collect();
    assert_eq!(left, [PathBuf::from("sub"), PathBuf::from("sub/mine")]);
}

#[test]
fn a_decision_of_the_user_ends_a_conflict() {
    let both = world(|tree| {
        for path in ["f", "g"] {
            tree.insert(path.into(), file("agent"));
        }
    });
    let run = Run::copied(&both);
    std::fs::write(run.project.join("f"), "user").unwrap();
    assert_eq!(run.apply().status, ApplyResult::Conflict);
    let before = snapshot(&run.project);
    let ours = Selection { ours: vec!["f".into()], ..Selection::all() };
    assert_eq!(run.apply_with(&ours, Ignored::KeepOut).status, ApplyResult::Applied);
    assert_eq!(std::fs::read(run.project.join("f")).unwrap(), b"user");
    assert_eq!(std::fs::read(run.project.join("g")).unwrap(), b"agent");
    let theirs = Selection { theirs: vec!["f".into()], ..Selection::all() };
    assert_eq!(run.apply_with(&theirs, Ignored::KeepOut).status, ApplyResult::Applied);
    assert_eq!(std::fs::read(run.project.join("f")).unwrap(), b"agent");
    // The user's version is not lost: two undos bring everything back.
    for _ in 0..2 {
        undo(&run.context(&CrashPoints::none())).unwrap();
    }
    assert_eq!(snapshot(&run.project), before);
}

#[test]
fn picked_files_are_applied_and_the_rest_waits() {
    let run = Run::copied(&world(|tree| {
        tree.insert("f".into(), file("agent"));
        tree.insert("new".into(), DIR);
        tree.insert("new/a".into(), file("a"));
        tree.insert("new/b".into(), file("b"));
    }));
    let pick = Selection { only: Some(vec!["new/a".into()]), ..Selection::all() };
    let outcome = run.apply_with(&pick, Ignored::KeepOut);
    assert_eq!(outcome.status, ApplyResult::Applied);
    let remaining: Vec<&Path> = outcome.remaining.iter().map(|change| change.path.0.as_path()).collect();
    assert_eq!(remaining, [Path::new("f"), Path::new("new/b")]);
    assert!(run.project.join("new/a").exists() && !run.project.join("new/b").exists());
    assert_eq!(run.apply().status, ApplyResult::Applied);
    assert!(run.project.join("new/b").exists());
    assert_eq!(pick.unknown(&run.review()), [Path::new("new/a")]);
}

#[test]
fn an_undo_is_refused_when_the_user_went_on() {
    let run = Run::copied(&world(set("f", file("agent"))));
    run.apply();
    std::fs::write(run.project.join("f"), "user goes on").unwrap();
    let outcome = undo(&run.context(&CrashPoints::none())).unwrap();
    assert_eq!(outcome.changed, ["f".into()]);
    assert_eq!(std::fs::read(run.project.join("f")).unwrap(), b"user goes on");
}

/// The user saves a file at each instant of an apply that replaces, deletes or creates it.
#[test]
fn a_save_at_any_instant_of_an_apply_survives() {
    let agents_work = || {
        world(|tree| {
            set("f", file("agent"))(tree);
            gone("d/f")(tree);
            set("empty", file("was a directory"))(tree);
            set("g", DIR)(tree);
            tree.insert("g/x".into(), file("x"));
            tree.insert("new".into(), file("new"));
            set("l", link("g"))(tree);
            tree.insert("d/g".into(), Node::File { bytes: b"base".to_vec(), mode: 0o755 });
        })
    };
    let applied = agents_work().after;
    let saves: [(&str, User); 7] = [
        ("f", |path| std::fs::write(path, "user").unwrap()),
        ("f", |path| {
            std::fs::write(path.with_extension("t"), "user").unwrap();
            std::fs::rename(path.with_extension("t"), path).unwrap();
        }),
        ("d/f", |path| std::fs::write(path, "user").unwrap()),
        ("d/g", |path| std::fs::write(path, "user").unwrap()),
        ("empty", |path| {
            let _ = std::fs::write(path.join("user"), "user").or_else(|_| std::fs::write(path, "user"));
        }),
        ("new", |path| std::fs::write(path, "user").unwrap()),
        ("l", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, "user").unwrap();
        }),
    ];
    let total = {
        let run = Run::copied(&agents_work());
        let crash_points = CrashPoints::none();
        let context = run.context(&crash_points);
        run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut)).unwrap();
        crash_points.passed()
    };
    assert!(total > 40, "{total}");
    for (path, save) in saves {
        for at in 1..=total {
            let run = Run::copied(&agents_work());
            let target = run.project.join(path);
            let seen = Arc::new(Mutex::new(None));
            let noted = Arc::clone(&seen);
            let before = snapshot(&run.project);
            let crash_points = CrashPoints::calling(move |number, name| {
                if number == at {
                    save(&target);
                    *noted.lock().unwrap() = Some(name);
                }
            });
            let context = run.context(&crash_points);
            let outcome =
                run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut)).unwrap();
            let name = seen.lock().unwrap().unwrap_or("never");
            let what = format!("{path} saved at {at} ({name}): {:?}", outcome.status);
            let mut now = snapshot(&run.project);
            let user: Vec<PathBuf> = now
                .iter()
                .filter(|(_, node)| matches!(node, Node::File { bytes, .. } if bytes == b"user"))
                .map(|(path, _)| path.clone())
                .collect();
            assert_eq!(user.len(), 1, "{what}: the user's save is there: {now:?}");
            let user = user[0].clone();
            // What we moved and put back is not taken for an edit of the user's.
            let blamed: Vec<PathBuf> = run.review().conflicts().map(|change| change.path.0.clone()).collect();
            assert!(blamed.iter().all(|blamed| blamed.starts_with(path)), "{what}: {blamed:?}");
            // Apart from that one path it is all or nothing.
            let mut expected = if outcome.status == ApplyResult::Applied { applied.clone() } else { before };
            for tree in [&mut now, &mut expected] {
                tree.retain(|at, _| !at.starts_with(path) && *at != user);
            }
            assert_eq!(now, expected, "{what}");
        }
    }
}

/// An editor that keeps the file open writes into what was taken out.
#[test]
fn a_write_through_an_open_file_during_an_apply_survives() {
    let total = 60;
    for (agent, path) in [(set("f", file("agent")), "f"), (gone("d/f"), "d/f")] {
        let world = world(agent);
        let mut conflicts = 0;
        for at in 1..=total {
            let run = Run::copied(&world);
            let editor = std::fs::File::options().write(true).open(run.project.join(path)).unwrap();
            let seen = Arc::new(Mutex::new(""));
            let noted = Arc::clone(&seen);
            let crash_points = CrashPoints::calling(move |number, name| {
                if number == at {
                    editor.write_all_at(b"user!", 0).unwrap();
                    *noted.lock().unwrap() = name;
                }
            });
            let context = run.context(&crash_points);
            let outcome =
                run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut)).unwrap();
            let is_in_time = *seen.lock().unwrap() == "forward: after";
            assert!(!is_in_time || outcome.status == ApplyResult::Conflict, "{path} at {at}");
            if outcome.status == ApplyResult::Conflict {
                conflicts += 1;
                assert_eq!(snapshot(&run.project)[Path::new(path)], file("user!"), "{path} at {at}");
            } else {
                // Too late for this apply: what was written is what an undo gives back.
                assert!(undo(&run.context(&CrashPoints::none())).is_ok());
                let back = &snapshot(&run.project)[Path::new(path)];
                assert!(*back == file("user!") || *back == file("base"), "{path} at {at}: {back:?}");
            }
        }
        assert!(conflicts > 8, "{path}: {conflicts}");
    }
}
