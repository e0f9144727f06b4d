use super::*;
use crate::exit::Exit;
use crate::model::mount::{Backend, Effect, PathRule, RuleSource, Sandbox};
use crate::model::mount_record::MOUNT_RECORD_FILE;
use crate::mount::apply::{Selection, UndoRequest};
use crate::mount::changes::base;
use crate::mount::fs::tree::Tree;
use crate::session::prune::PruneRequest;
use crate::session::status::{HeldBecause, SessionRun};
use crate::session::tidy::{Tidied, settled_size};
use crate::session::{Applied, ApplyRequest, SessionError, SessionState};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Fixture {
    dir: tempfile::TempDir,
    store: SessionStore,
    host: Host,
    crash_points: CrashPoints,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("project")).unwrap();
        for (name, text) in [("a", "base\n"), ("b", "base\n"), ("c", "base\n")] {
            std::fs::write(dir.path().join("project").join(name), text).unwrap();
        }
        let host = Host {
            env: BTreeMap::new(),
            cwd: dir.path().into(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        let store = SessionStore::new(&dir.path().join("home"));
        Fixture { dir, store, host, crash_points: CrashPoints::none() }
    }

    fn sessions(&self) -> Sessions<'_> {
        Sessions {
            store: &self.store,
            host: &self.host,
            crash_points: &self.crash_points,
            merging: Merging::On,
        }
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// A run with the copy backend that wrote these files, and whose runner is gone.
    fn run(&self, persona: &str, writes: &[(&str, &str)]) -> String {
        let session = self.store.create(&self.host, persona, &self.project()).unwrap();
        let rules = vec![PathRule {
            pattern: "secret".into(),
            effect: Effect::Hidden,
            source: RuleSource::ProjectFile,
            origin: ".agentignore:1".into(),
        }];
        session.write_rules(&rules).unwrap();
        // The clock of file times ticks every few milliseconds.
        std::thread::sleep(Duration::from_millis(12));
        std::fs::write(session.dir.join("clock"), "").unwrap();
        let launched_at = Tree::open(&session.dir).unwrap().stat(Path::new("clock")).unwrap().unwrap().ctime;
        let mount = session.dir.join("mount");
        std::fs::create_dir(&mount).unwrap();
        for entry in std::fs::read_dir(self.project()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), mount.join(entry.file_name())).unwrap();
        }
        let root = Tree::open(&self.project()).unwrap().root_stat().unwrap();
        let record = MountRecord {
            root_dev: root.dev,
            root_ino: root.ino,
            data: "mount".into(),
            ..MountRecord::bare(Backend::Copy, Sandbox::Off, self.project().into(), launched_at)
        };
        session.write_json(MOUNT_RECORD_FILE, &record).unwrap();
        base::take_project(&session.dir, &self.project(), &rules, &|| false).unwrap();
        base::take_copy(&session.dir, &mount).unwrap();
        let run = SessionRun { started_at: self.host.now().to_string(), ..SessionRun::default() };
        session.update_status(|status| status.begin(run)).unwrap();
        session.set_state(&self.host, SessionState::Running).unwrap();
        for (name, text) in writes {
            std::fs::write(mount.join(name), text).unwrap();
        }
        session.id.to_string()
    }

    fn apply(&self, id: &str) -> Applied {
        self.sessions().apply(&ApplyRequest { session: id.into(), ..ApplyRequest::default() }).unwrap()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap()
    }
}

#[test]
fn a_dead_run_is_recovered_shown_applied_and_undone() {
    let fixture = Fixture::new();
    let id = fixture.run("coder", &[("a", "agent\n"), ("new", "x\n")]);
    let sessions = fixture.sessions();
    assert_eq!(sessions.list().unwrap()[0].state, SessionState::Interrupted);
    let recovered = &sessions.recover(None).unwrap().recovered[0];
    assert_eq!((recovered.state, recovered.changes, recovered.conflicts), (SessionState::Held, 2, 0));
    let entry = &sessions.list().unwrap()[0];
    assert_eq!((entry.changed, entry.held_because), (2, Some(HeldBecause::Recovered)));
    assert_eq!(sessions.recover(None).unwrap().recovered.len(), 0);
    let diffs = sessions.diff(&id, None, false).unwrap().files;
    assert_eq!(diffs[0].text, "diff a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-base\n+agent\n");
    assert_eq!((diffs[1].added, diffs[1].removed), (Some(1), Some(0)));
    let applied = fixture.apply("coder");
    assert_eq!(
        (applied.state, applied.exit(), applied.mount_removed),
        (SessionState::Applied, Exit::Done, true)
    );
    assert_eq!(fixture.read("a"), "agent\n");
    let applied = sessions.diff(&id, None, false).unwrap();
    assert!(applied.applied && applied.files[0].text.contains("-base\n+agent\n"), "{applied:?}");
    assert_eq!(sessions.undo(&id, &UndoRequest::default()).unwrap().state, SessionState::Undone);
    assert_eq!(fixture.read("a"), "base\n");
    assert!(!fixture.project().join("new").exists());
    let shown = sessions.show(&id).unwrap();
    assert_eq!(shown.journals.iter().map(|journal| journal.is_undo).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_conflict_holds_the_session_and_a_decision_ends_it() {
    let fixture = Fixture::new();
    let id = fixture.run("coder", &[("a", "agent\n"), ("b", "agent\n")]);
    std::fs::write(fixture.project().join("a"), "user\n").unwrap();
    let applied = fixture.apply(&id);
    assert_eq!((applied.state, applied.exit()), (SessionState::Held, Exit::Conflict));
    assert_eq!((fixture.read("a"), fixture.read("b")), ("user\n".into(), "base\n".into()));
    let request = ApplyRequest {
        session: id,
        selection: Selection { theirs: vec!["a".into()], ..Selection::all() },
        ..ApplyRequest::default()
    };
    assert_eq!(fixture.sessions().apply(&request).unwrap().state, SessionState::Applied);
    assert_eq!((fixture.read("a"), fixture.read("b")), ("agent\n".into(), "agent\n".into()));
}

#[test]
fn two_sessions_on_one_project_do_not_overwrite_each_other() {
    let fixture = Fixture::new();
    let first = fixture.run("first", &[("a", "first\n"), ("b", "first\n")]);
    let second = fixture.run("second", &[("a", "second\n"), ("c", "second\n")]);
    assert_eq!(fixture.apply(&first).exit(), Exit::Done);
    let conflict = fixture.apply(&second);
    assert_eq!(conflict.exit(), Exit::Conflict);
    assert_eq!((fixture.read("a"), fixture.read("c")), ("first\n".into(), "base\n".into()));
}

#[test]
fn prune_keeps_what_was_never_applied() {
    let fixture = Fixture::new();
    let held = fixture.run("held", &[("a", "agent\n")]);
    let applied = fixture.run("applied", &[("b", "agent\n")]);
    let nothing = fixture.run("nothing", &[]);
    let undone = fixture.run("undone", &[("c", "agent\n")]);
    fixture.apply(&applied);
    fixture.apply(&undone);
    fixture.sessions().undo(&undone, &UndoRequest::default()).unwrap();
    let live = fixture.store.create(&fixture.host, "live", &fixture.project()).unwrap();
    let prune = |older_than: u64, force: bool| {
        let request = PruneRequest { older_than: Duration::from_secs(older_than), force, dry_run: false };
        fixture.sessions().prune(&request).unwrap()
    };
    assert_eq!(prune(3600, true).removed, Vec::<String>::new());
    assert_eq!(prune(0, false).removed, [applied, nothing]);
    assert_eq!(prune(0, true).removed, [held, undone]);
    assert_eq!(fixture.sessions().list().unwrap().len(), 1);
    drop(live);
}

#[test]
fn a_discarded_session_leaves_the_project_alone() {
    let fixture = Fixture::new();
    let id = fixture.run("coder", &[("a", "agent\n")]);
    assert_eq!(fixture.sessions().discard(&id).unwrap().state, SessionState::Discarded);
    assert_eq!(fixture.read("a"), "base\n");
    let request = ApplyRequest { session: id, ..ApplyRequest::default() };
    assert!(
        fixture.sessions().apply(&request).unwrap_err().to_string().contains("its files are no longer kept")
    );
}

#[test]
fn a_write_to_a_hidden_path_is_told_and_its_mount_kept() {
    let fixture = Fixture::new();
    let id = fixture.run("coder", &[("a", "agent\n"), ("secret", "mine")]);
    let applied = fixture.apply(&id);
    assert_eq!(applied.outcome.review.protected[0].path, "secret".into());
    assert_eq!(applied.outcome.review.protected[0].rule.as_ref().unwrap().origin, ".agentignore:1");
    assert!(!applied.mount_removed && !fixture.project().join("secret").exists());
}

#[test]
fn a_vanished_project_is_said_and_nothing_is_lost() {
    let fixture = Fixture::new();
    let id = fixture.run("coder", &[("a", "agent\n")]);
    let aside = fixture.dir.path().join("elsewhere");
    std::fs::rename(fixture.project(), &aside).unwrap();
    let request = ApplyRequest { session: id.clone(), ..ApplyRequest::default() };
    let error = fixture.sessions().apply(&request).unwrap_err();
    assert!(error.to_string().contains("the work is kept in the session"), "{error:?}");
    // Another directory of that name is not the project.
    std::fs::create_dir(fixture.project()).unwrap();
    let error = fixture.sessions().apply(&request).unwrap_err();
    assert!(error.to_string().contains("not the directory"), "{error:?}");
    assert_eq!(std::fs::read_dir(fixture.project()).unwrap().count(), 0);
    assert_eq!(fixture.sessions().recover(Some(&id)).unwrap().recovered.len(), 1);
    std::fs::remove_dir(fixture.project()).unwrap();
    std::fs::rename(&aside, fixture.project()).unwrap();
    assert_eq!(fixture.apply(&id).exit(), Exit::Done);
}

#[test]
fn sessions_that_come_and_go_meanwhile_disturb_nobody_who_looks_after_them() {
    let fixture = Fixture::new();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (over, host, root) = (&over, &fixture.host, fixture.project());
        // A store of its own, as another process has one.
        let store = fixture.store.clone();
        scope.spawn(move || {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let session = store.create(host, "fleeting", &root).unwrap();
                store.remove(&session).unwrap();
            }
        });
        let sessions = fixture.sessions();
        let looked = (0..150).try_for_each(|_| {
            sessions.list()?;
            sessions.recover(None)?;
            sessions
                .prune(&PruneRequest { older_than: Duration::from_hours(1), force: false, dry_run: false })
                .map(|_| ())
        });
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        looked.unwrap();
    });
    assert!(fixture.sessions().list().unwrap().is_empty());
}

#[test]
fn what_was_undone_is_applied_again_without_the_mount_unless_the_user_changed_it() {
    let fixture = Fixture::new();
    let id = fixture.run("x", &[("a", "agent\n"), ("new", "new\n")]);
    let sessions = fixture.sessions();
    let read = |name: &str| std::fs::read_to_string(fixture.project().join(name)).ok();
    let applied = sessions.apply(&ApplyRequest { session: id.clone(), ..ApplyRequest::default() }).unwrap();
    assert!(applied.mount_removed);
    let nothing = sessions.redo(&id).unwrap();
    assert_eq!((nothing.outcome.status, nothing.exit()), (apply::UndoStatus::Nothing, Exit::Usage));
    for _ in 0..3 {
        assert_eq!(sessions.undo(&id, &UndoRequest::default()).unwrap().state, SessionState::Undone);
        assert_eq!((read("a").as_deref(), read("new")), (Some("base\n"), None));
        let error = sessions.apply(&ApplyRequest { session: id.clone(), ..ApplyRequest::default() });
        let error = error.unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(SessionError::NoMount { state: SessionState::Undone, .. })),
            "{error}"
        );
        let redone = sessions.redo(&id).unwrap();
        assert_eq!((redone.outcome.status, redone.state), (apply::UndoStatus::Redone, SessionState::Applied));
        assert_eq!((read("a").as_deref(), read("new").as_deref()), (Some("agent\n"), Some("new\n")));
    }
    assert_eq!(sessions.redo(&id).unwrap().outcome.status, apply::UndoStatus::Nothing);
    // What the user did meanwhile stands.
    sessions.undo(&id, &UndoRequest::default()).unwrap();
    std::fs::write(fixture.project().join("a"), "user\n").unwrap();
    let refused = sessions.redo(&id).unwrap();
    assert_eq!((refused.outcome.status, refused.exit()), (apply::UndoStatus::Conflict, Exit::Conflict));
    assert_eq!((read("a").as_deref(), read("new")), (Some("user\n"), None));
    assert_eq!(refused.state, SessionState::Undone);
}

#[test]
fn the_oldest_finished_sessions_go_where_they_take_too_much_and_never_on_their_first_day() {
    let fixture = Fixture::new();
    let finish = |name: &str, state: SessionState, ended: &str| {
        let session = fixture.store.create(&fixture.host, name, &fixture.project()).unwrap();
        session
            .update_status(|status| {
                status.state = state;
                status.started_at = ended.into();
                status.ended_at = Some(ended.into());
            })
            .unwrap();
        std::fs::write(session.dir.join("large"), vec![1; 1 << 20]).unwrap();
        session.id.to_string()
    };
    let oldest = finish("oldest", SessionState::Applied, "2020-01-01T00:00:00Z");
    let held = finish("held", SessionState::Held, "2020-01-02T00:00:00Z");
    let undone = finish("undone", SessionState::Undone, "2020-01-02T00:00:00Z");
    let older = finish("older", SessionState::Nothing, "2020-01-03T00:00:00Z");
    let old = finish("old", SessionState::Discarded, "2020-01-04T00:00:00Z");
    let new = finish("new", SessionState::Applied, &fixture.host.now().to_string());
    let left =
        || fixture.store.all().unwrap().iter().map(|session| session.id.to_string()).collect::<Vec<_>>();
    let tidy = |limit: u64| {
        let mut tidied = Tidied::default();
        fixture.sessions().remove_old(Duration::MAX, Some(limit), &mut tidied).unwrap();
        (tidied.removed, tidied.bytes > 1 << 20)
    };
    assert_eq!(tidy(10 << 20), (0, false));
    assert_eq!(tidy((2 << 20) + (1 << 19)), (2, true));
    assert!(!left().contains(&oldest) && !left().contains(&older) && left().contains(&old));
    assert_eq!(tidy(1), (1, true));
    let mut rest = vec![held, new, undone];
    rest.sort();
    assert_eq!(left(), rest);
}

#[test]
fn last_is_the_session_that_was_used_last() {
    let fixture = Fixture::new();
    let begin = |id: &str, at: &str| {
        let run = SessionRun { started_at: at.into(), ..SessionRun::default() };
        fixture.store.find(id).unwrap().update_status(|status| status.begin(run)).unwrap();
    };
    let make =
        |name: &str| fixture.store.create(&fixture.host, name, &fixture.project()).unwrap().id.to_string();
    let (first, second) = (make("first"), make("second"));
    begin(&first, "2026-11-18T10:00:00Z");
    begin(&second, "2026-11-18T11:00:00Z");
    let store = fixture.store.clone().seen_from(&fixture.project().join("below"));
    assert_eq!(store.find("last").unwrap().id.as_str(), second);
    begin(&first, "2026-11-18T12:00:00Z");
    assert_eq!(store.find("last").unwrap().id.as_str(), first);
    // The list is in the order in which sessions were started.
    assert_eq!(store.list().unwrap()[0].id, second);
    // A project in the project has sessions of its own.
    let inner = fixture.project().join("below");
    let inner = fixture.store.create(&fixture.host, "inner", &inner).unwrap().id.to_string();
    begin(&inner, "2026-11-18T09:00:00Z");
    assert_eq!(store.find("last").unwrap().id.as_str(), inner);
}

#[test]
fn a_damaged_session_stays_and_keeps_no_other() {
    let fixture = Fixture::new();
    let old = |name: &str| {
        let session = fixture.store.create(&fixture.host, name, &fixture.project()).unwrap();
        let ended = "2020-01-01T00:00:00Z";
        let settle = |status: &mut crate::session::SessionStatus| {
            (status.state, status.started_at) = (SessionState::Applied, ended.into());
            status.ended_at = Some(ended.into());
        };
        session.update_status(settle).unwrap();
        session.dir.clone()
    };
    let (damaged, sound) = (old("damaged"), old("sound"));
    std::fs::write(damaged.join(MOUNT_RECORD_FILE), "{").unwrap();
    let mut tidied = Tidied::default();
    fixture.sessions().remove_old(Duration::from_secs(1), Some(0), &mut tidied).unwrap();
    assert_eq!((tidied.removed, damaged.exists(), sound.exists()), (1, true, false));
}

#[test]
fn how_much_room_a_settled_session_takes_is_measured_once() {
    let fixture = Fixture::new();
    let session = fixture.store.create(&fixture.host, "x", &fixture.project()).unwrap();
    session.set_state(&fixture.host, SessionState::Applied).unwrap();
    std::fs::write(session.dir.join("large"), vec![1; 1 << 20]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let later = || Instant::now() + Duration::from_mins(1);
    let bytes = settled_size(&session, later()).unwrap();
    assert!(bytes >= 1 << 20);
    assert_eq!(settled_size(&session, Instant::now()), Some(bytes));
    // An undo and what follows it change the status.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(session.dir.join("more"), vec![1; 1 << 20]).unwrap();
    for state in [SessionState::Undone, SessionState::Applied] {
        session.set_state(&fixture.host, state).unwrap();
    }
    assert!(settled_size(&session, later()).unwrap() >= 2 << 20);
}

#[test]
fn a_session_whose_lock_is_not_ours_is_listed_with_the_others() {
    let fixture = Fixture::new();
    let make =
        |name: &str| fixture.store.create(&fixture.host, name, &fixture.project()).unwrap().dir.clone();
    let (_, bad) = (make("good"), make("bad"));
    std::fs::set_permissions(bad.join("lock"), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let entries = fixture.store.list().unwrap();
    assert_eq!(entries.len(), 2);
    let entry = entries.iter().find(|entry| entry.id.starts_with("bad")).unwrap();
    assert!(!entry.live && entry.problem.as_ref().unwrap().contains("others may write to it"), "{entry:?}");
    assert!(entries.iter().any(|entry| entry.problem.is_none()));
    assert!(fixture.store.find("bad").unwrap().lock().is_err());
}
