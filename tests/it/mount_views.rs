//! Views of the result, of the project at launch and of a mixture, and paths that are put back: for both backends, as ourselves
//! and as an ordinary user.

use crate::support::mount::{BINARY, Identity, ORDINARY_ID, World, default_spec, is_root, read};
use agentworkforce::model::mount::{Backend, Effect, MountSpec, PathRule, RuleSource};
use agentworkforce::model::raw_path::RawPath;
use agentworkforce::mount::changes::earlier::Earlier;
use agentworkforce::mount::changes::manifest::{MANIFEST_FILE, MOUNT_MANIFEST_FILE, Manifest};
use agentworkforce::mount::changes::{Ignored, Merging, ThreeWay, base, review};
use agentworkforce::mount::fs::tree::Tree;
use agentworkforce::mount::process::child::ChildEvent;
use agentworkforce::mount::process::inside::protocol::{Group, Report};
use agentworkforce::mount::{
    ChildCommand, ChildStdio, CrashPoints, InjectedFile, MountError, OpenMount, OpenRequest, ScratchView,
    ViewOf, open, probe,
};
use pretty_assertions::assert_eq;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs a test as ourselves and, when we are root, once more as an ordinary user: in a process of its own, because
/// namespaces are made by whoever opens the mount.
fn as_everybody(name: &str, test: impl Fn(Backend)) {
    for backend in [Backend::Overlay, Backend::Copy] {
        test(backend);
    }
    if is_root() {
        let id = ORDINARY_ID.to_string();
        let output = Command::new("setpriv")
            .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &format!("mount_views::{name}"), "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
    }
}

/// A project in an open mount, and what was recorded about it.
struct Mounted {
    world: World,
    session: PathBuf,
    rules: Vec<PathRule>,
    mount: OpenMount,
    scratch: std::cell::Cell<u32>,
}

impl Mounted {
    fn new(backend: Backend) -> Mounted {
        let world = World::new(Identity::Own);
        world.files(&[
            ("a", "old\n"),
            ("b", "old\n"),
            ("kept", "old\n"),
            ("d/x", "x\n"),
            ("d/y", "y\n"),
            ("d/deep/z", "z\n"),
            (".env", "TOPSECRET\n"),
        ]);
        world.outside("chmod 755 d/x; git init -q; git add a b kept d; git commit -qm one");
        // Changes from the very moment of the launch would count as the user's.
        std::thread::sleep(Duration::from_millis(50));
        let state = world.home().join("state");
        let session = state.join("sessions/one");
        fs::create_dir_all(&session).unwrap();
        let rules = vec![PathRule {
            pattern: ".env".into(),
            effect: Effect::Hidden,
            source: RuleSource::Config,
            origin: "test".into(),
        }];
        let spec = MountSpec { backend, rules: rules.clone(), ..default_spec(world.project()) };
        let injected = [InjectedFile { path: "d/CLAUDE.md".into(), bytes: b"ours\n".to_vec(), mode: 0o644 }];
        let facts = probe::facts(Path::new(BINARY), &state, &spec.root).unwrap();
        let mount = open(&OpenRequest {
            spec: &spec,
            facts: &facts,
            helper: Path::new(BINARY),
            sessions_dir: &state.join("sessions"),
            session_dir: &session,
            injected: &injected,
            expose: &[],
            lend: &[],
            writable: &[],
            signals: None,
            lock: None,
            crash_points: &CrashPoints::none(),
        })
        .unwrap();
        assert_eq!(mount.record.backend, backend);
        if backend == Backend::Copy {
            base::take_copy(&session, &session.join(&mount.record.data)).unwrap();
        }
        base::take_project(&session, &spec.root, &rules, &|| false).unwrap();
        Mounted { world, session, rules, mount, scratch: std::cell::Cell::new(0) }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.world.project().join(name), text).unwrap();
    }

    fn view(&self, what: ViewOf) -> ScratchView {
        self.scratch.set(self.scratch.get() + 1);
        self.mount.view_of(what, &self.session.join(format!("view-{}", self.scratch.get()))).unwrap()
    }

    fn put_back(&self, paths: &[&str]) -> anyhow::Result<()> {
        self.mount.put_back(&raw(paths))
    }

    /// What a review of the mount would apply or hold back.
    fn changes(&self) -> Vec<String> {
        let (project, data) = (self.world.project(), self.session.join(&self.mount.record.data));
        let (project, mount) = (Tree::open(&project).unwrap(), Tree::open(&data).unwrap());
        let base = Manifest::read(&self.session, MANIFEST_FILE).unwrap();
        let made = Manifest::read(&self.session, MOUNT_MANIFEST_FILE).unwrap();
        let sides = ThreeWay {
            record: &self.mount.record,
            rules: &self.rules,
            project: &project,
            mount: &mount,
            base: base.as_ref(),
            made: made.as_ref(),
            contents: None,
            earlier: Earlier::default(),
            merging: Merging::On,
        };
        let review = review(&sides, Ignored::Include).unwrap();
        let changes = review.changes.iter().map(|change| change.path.display().to_string());
        let protected = review.protected.iter().map(|protected| format!("!{}", protected.path.display()));
        changes.chain(protected).collect()
    }
}

fn raw(paths: &[&str]) -> Vec<RawPath> {
    paths.iter().map(|path| RawPath(path.into())).collect()
}

fn run(mount: &OpenMount, script: &str) -> String {
    let command =
        ChildCommand { argv: ["sh", "-c", script].map(Into::into).to_vec(), env: Vec::new(), ends_at: None };
    let mut child = mount.spawn(&command, ChildStdio::piped(), Group::Own).unwrap();
    let (mut out, mut err) = (child.take_stdout().unwrap(), child.take_stderr().unwrap());
    let mut reports = Vec::new();
    while let ChildEvent::Report(report) = child.next(Some(Duration::from_secs(30))).unwrap() {
        reports.push(report);
    }
    drop(child);
    let (mut text, mut complaints) = (String::new(), String::new());
    out.read_to_string(&mut text).unwrap();
    err.read_to_string(&mut complaints).unwrap();
    assert!(
        matches!(reports[..], [Report::Started, Report::Exited(_), Report::Ended]),
        "{reports:?} {complaints}"
    );
    text
}

const AGENT: &str =
    "echo new > a; rm b; echo made > c; rm -r d; mkdir d; echo n > d/n; echo forged > .env; true";
const LIST: &str = "find . -path ./.git -prune -o -type f -print | LC_ALL=C sort";

#[test]
fn a_view_shows_the_result_the_base_or_some_of_both() {
    as_everybody("a_view_shows_the_result_the_base_or_some_of_both", |backend| {
        let mounted = Mounted::new(backend);
        run(&mounted.mount, AGENT);
        let result = mounted.view(ViewOf::Result);
        assert_eq!(run(&result.mount, &format!("cat a; {LIST}")), "new\n./.env\n./a\n./c\n./d/n\n./kept\n");

        let base = mounted.view(ViewOf::Base);
        assert_eq!(base.changed_by_user, raw(&[]));
        let everything = "./a\n./b\n./d/CLAUDE.md\n./d/deep/z\n./d/x\n./d/y\n./kept\n";
        let script = format!("cat a d/CLAUDE.md; stat -c %a d/x; git status --porcelain; {LIST}");
        assert_eq!(run(&base.mount, &script), format!("old\nours\n755\n{everything}"));
        run(&base.mount, "echo scratch > a; rm -r d");
        assert_eq!(run(&mounted.mount, "cat a"), "new\n", "nothing of it is in the mount");
        assert_eq!(read(mounted.world.project().join("a")), "old\n");

        let mixed = mounted.view(ViewOf::BaseWith(&raw(&["a", "d/n", "b", "nowhere/at/all"])));
        let script = format!("cat a d/x; {LIST}");
        let expected = "new\nx\n./a\n./d/CLAUDE.md\n./d/deep/z\n./d/n\n./d/x\n./d/y\n./kept\n";
        assert_eq!(run(&mixed.mount, &script), expected);
        // A directory is taken with what is missing in it; what is injected stays, and what is hidden stays hidden.
        let mixed = mounted.view(ViewOf::BaseWith(&raw(&["d", ".env"])));
        let listed = run(&mixed.mount, LIST);
        assert!(listed.contains("./d/n\n") && listed.contains("./d/CLAUDE.md\n"), "{listed}");
        assert!(!listed.contains(".env") && listed.contains("./b\n"), "{listed}");
        let refused = mounted.mount.view_of(ViewOf::BaseWith(&raw(&["../x"])), &mounted.session.join("no"));
        assert!(matches!(refused.unwrap_err().downcast(), Ok(MountError::NotAProjectPath { .. })));
        assert_eq!(
            mounted.changes(),
            ["a", "b", "c", "d/deep", "d/deep/z", "d/n", "d/x", "d/y", "!.env", "!d/CLAUDE.md"]
        );
    });
}

#[test]
fn what_the_user_changed_since_launch_is_restored_or_named() {
    as_everybody("what_the_user_changed_since_launch_is_restored_or_named", |backend| {
        let mounted = Mounted::new(backend);
        run(&mounted.mount, AGENT);
        mounted.write("a", "the user's\n");
        mounted.write("kept", "the user's\n");
        mounted.write("new", "the user's\n");
        mounted.write("d/.env", "TOPSECRET\n");
        let base = mounted.view(ViewOf::Base);
        let shown = run(&base.mount, "cat a kept; ls new; find . -name .env");
        if backend == Backend::Copy {
            // The agent left `kept` alone, so the mount has it as it was.
            assert_eq!((shown.as_str(), base.changed_by_user), ("the user's\nold\n", raw(&["a"])));
        } else {
            assert_eq!(shown, "the user's\nthe user's\nnew\n");
            assert_eq!(base.changed_by_user, raw(&["a", "kept", "new"]));
        }
        let mixed = mounted.view(ViewOf::BaseWith(&raw(&["a"])));
        assert_eq!(run(&mixed.mount, "cat a"), "new\n");
        assert!(!mixed.changed_by_user.contains(&RawPath("a".into())));
    });
}

#[test]
fn paths_are_put_back_as_if_nobody_had_touched_them() {
    as_everybody("paths_are_put_back_as_if_nobody_had_touched_them", |backend| {
        let mounted = Mounted::new(backend);
        run(&mounted.mount, AGENT);
        mounted.put_back(&["d/x", "a"]).unwrap();
        let script = format!("cat a d/x; stat -c %a d/x; {LIST}");
        assert_eq!(run(&mounted.mount, &script), "old\nx\n755\n./.env\n./a\n./c\n./d/n\n./d/x\n./kept\n");
        mounted.put_back(&["b", "c", "d", ".env"]).unwrap();
        let script = format!("cat b d/CLAUDE.md; git status --porcelain; {LIST}");
        let everything = "./a\n./b\n./d/CLAUDE.md\n./d/deep/z\n./d/x\n./d/y\n./kept\n";
        assert_eq!(run(&mounted.mount, &script), format!("old\nours\n{everything}"));
        assert_eq!(mounted.changes(), [""; 0]);
        // And the agent can go on.
        run(&mounted.mount, "echo again > a; rm d/x");
        assert_eq!(mounted.changes(), ["a", "d/x"]);
    });
}

#[test]
fn a_path_that_cannot_be_put_back_is_named_and_nothing_is_changed() {
    as_everybody("a_path_that_cannot_be_put_back_is_named_and_nothing_is_changed", |backend| {
        let mounted = Mounted::new(backend);
        run(&mounted.mount, "echo new > a; rm -r d; echo file > d");
        let error = mounted.put_back(&["a", "d/x"]).unwrap_err();
        assert!(matches!(error.downcast(), Ok(MountError::BlockedPath { path }) if path == Path::new("d/x")));
        run(&mounted.mount, "rm d; mkdir d; echo n > d/n");
        mounted.write("d/x", "the user's\n");
        let error = mounted.put_back(&["a", "d/x"]).unwrap_err();
        assert!(
            matches!(error.downcast(), Ok(MountError::ChangedSinceLaunch { path }) if path == Path::new("d/x"))
        );
        assert!(mounted.put_back(&[".git/config"]).is_err() && mounted.put_back(&[""]).is_err());
        assert_eq!(run(&mounted.mount, "cat a d/n"), "new\nn\n");
    });
}
