//! A project, what an agent made of it, and the two kinds of directory that a backend would leave behind.

use super::script::{Rng, base_tree, edit};
use super::snapshot::{Node, Snapshot, materialise, snapshot, write_node};
use super::texts::Texts;
use crate::model::mount::{Backend, Effect, PathRule, RuleSource, Sandbox};
use crate::model::mount_record::{HiddenPath, InjectedRecord, Instant, MountRecord, XattrNamespace};
use crate::mount::CrashPoints;
use crate::mount::apply::journal::Journal;
use crate::mount::apply::{ApplyOutcome, Context, Selection, apply};
use crate::mount::changes::base_content::BaseContents;
use crate::mount::changes::contents_take::{CopyLimits, take_contents};
use crate::mount::changes::manifest::Manifest;
use crate::mount::changes::manifest_take::Cores;
use crate::mount::changes::{Ignored, Merging, Review, ThreeWay, review};
use crate::mount::fs::tree::Tree;
use crate::rules::{PathRules, Visibility, builtin_secret_rules};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A temporary directory where syncs cost nothing, if there is one.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let in_memory = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

pub(super) fn rule(pattern: &str, effect: Effect) -> PathRule {
    PathRule { pattern: pattern.into(), effect, source: RuleSource::ProjectFile, origin: "test".into() }
}

pub(super) fn rules() -> Vec<PathRule> {
    let mut rules = builtin_secret_rules();
    rules.extend([
        rule("private/", Effect::Hidden),
        rule("ro", Effect::Readonly),
        rule("!ro/open/", Effect::Readonly),
    ]);
    rules
}

/// One side of a run, on disk: a project and the session that holds the mount.
pub(super) struct Run {
    _dirs: Vec<TempDir>,
    pub(super) outside: PathBuf,
    pub(super) project: PathBuf,
    pub(super) session: PathBuf,
    pub(super) locks: PathBuf,
    pub(super) record: MountRecord,
    pub(super) rules: Vec<PathRule>,
    pub(super) merging: Merging,
}

/// Where the sessions are: a rename reaches the project from there, or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    BesideProject,
    OnAnotherFilesystem,
}

/// What was there, what the agent saw, and what it left.
pub(super) struct World {
    pub(super) base: Snapshot,
    pub(super) seen: Snapshot,
    pub(super) after: Snapshot,
}

impl World {
    pub(super) fn generate(rng: &mut Rng) -> World {
        let base = base_tree(rng);
        let seen = visible(&base);
        let mut after = seen.clone();
        edit(rng, &mut after);
        World { base, seen, after }
    }

    /// The same with texts that the user edits, too.
    pub(super) fn with(mut self, texts: &Texts) -> World {
        self.base.extend(texts.base());
        self.seen.extend(texts.base());
        self.after.extend(texts.agents());
        self
    }
}

pub(super) fn visible(base: &Snapshot) -> Snapshot {
    let rules = PathRules::compile(&rules()).unwrap();
    base.iter()
        .filter(|(path, node)| rules.decide(path, node.is_dir()).visibility != Visibility::Hidden)
        .map(|(path, node)| (path.clone(), node.clone()))
        .collect()
}

impl Run {
    fn new(base: &Snapshot, backend: Backend, home: Home) -> Run {
        Run::new_in(scratch(), base, backend, home)
    }

    fn new_in(dir: TempDir, base: &Snapshot, backend: Backend, home: Home) -> Run {
        let mut dirs = vec![];
        let home = match home {
            Home::BesideProject => dir.path().join("home"),
            Home::OnAnotherFilesystem => {
                let other = tempfile::tempdir().unwrap();
                let path = other.path().join("home");
                dirs.push(other);
                path
            }
        };
        let (outside, project) = (dir.path().join("outside"), dir.path().join("project"));
        let session = home.join("sessions/s-1");
        for path in [&outside, &project, &session] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(outside.join("file"), "outside").unwrap();
        materialise(&project, base);
        let data = if backend == Backend::Overlay { "upper" } else { "mount" };
        std::fs::create_dir(session.join(data)).unwrap();
        let root = Tree::open(&project).unwrap().root_stat().unwrap();
        let never = Instant { seconds: 0, nanos: 0 };
        let record = MountRecord {
            root_dev: root.dev,
            root_ino: root.ino,
            data: data.into(),
            xattrs: (backend == Backend::Overlay).then(|| xattrs(&session)),
            ..MountRecord::bare(backend, Sandbox::Off, project.clone().into(), never)
        };
        dirs.push(dir);
        let locks = home.join("locks");
        let run = Run {
            _dirs: dirs,
            outside,
            project,
            session,
            locks,
            record,
            rules: rules(),
            merging: Merging::On,
        };
        run.save();
        run
    }

    /// The base is taken and counts as older than the launch.
    pub(super) fn launch(&mut self) {
        self.launch_with(CopyLimits::default());
    }

    /// The same with so many copies of the project's files.
    pub(super) fn launch_with(&mut self, limits: CopyLimits) {
        let project = Tree::open(&self.project).unwrap();
        Manifest::take(&project, &self.rules, Cores::All, &self.session, "manifest", &|| false).unwrap();
        let manifest = Manifest::read(&self.session, "manifest").unwrap().unwrap();
        let newest = manifest.entries().map(|entry| entry.unwrap().1.ctime).max().unwrap();
        self.record.launched_at = Instant { seconds: newest.seconds, nanos: newest.nanos + 1 };
        take_contents(&self.session, &self.project, self.record.launched_at, limits, &|| false).unwrap();
    }

    pub(super) fn data(&self) -> PathBuf {
        self.session.join(&self.record.data)
    }

    /// The copy backend: the agent worked on a copy of what it may see.
    pub(super) fn copied(world: &World) -> Run {
        Run::copied_in(world, Home::BesideProject)
    }

    pub(super) fn copied_in(world: &World, home: Home) -> Run {
        Run::new(&world.base, Backend::Copy, home).with_copy(world)
    }

    /// Everything in this directory.
    pub(super) fn copied_at(world: &World, at: &Path) -> Run {
        let dir = tempfile::tempdir_in(at).unwrap();
        Run::new_in(dir, &world.base, Backend::Copy, Home::BesideProject).with_copy(world)
    }

    /// A project in this directory, launched, whose mount is still empty.
    pub(super) fn bare_at(world: &World, at: &Path, backend: Backend) -> Run {
        let dir = tempfile::tempdir_in(at).unwrap();
        let mut run = Run::new_in(dir, &world.base, backend, Home::BesideProject);
        run.launch();
        run
    }

    fn with_copy(mut self, world: &World) -> Run {
        let run = &mut self;
        run.launch();
        let mount = run.data();
        materialise(&mount, &world.seen);
        Manifest::take(
            &Tree::open(&mount).unwrap(),
            &[],
            Cores::All,
            &run.session,
            "manifest.mount",
            &|| false,
        )
        .unwrap();
        let doomed: Vec<&PathBuf> = world
            .seen
            .iter()
            .filter(|(path, node)| world.after.get(*path) != Some(node))
            .map(|(p, _)| p)
            .collect();
        for path in doomed.into_iter().rev() {
            let full = mount.join(path);
            match (world.seen.get(path), world.after.get(path)) {
                (Some(Node::Dir { .. }), Some(Node::Dir { mode })) => {
                    std::fs::set_permissions(&full, std::fs::Permissions::from_mode(*mode)).unwrap();
                }
                (Some(Node::Dir { .. }), _) => std::fs::remove_dir_all(&full).unwrap(),
                _ => std::fs::remove_file(&full).unwrap(),
            }
        }
        for (path, node) in &world.after {
            if std::fs::symlink_metadata(mount.join(path)).is_err() {
                write_node(&mount.join(path), node);
            }
        }
        assert_eq!(snapshot(&mount), world.after, "the copy is what the agent left");
        self
    }

    /// The overlay backend: an upper directory that shows the same over the project. An overlay has several ways to
    /// say one thing; the generator takes each now and then.
    pub(super) fn overlaid(world: &World, rng: &mut Rng) -> Run {
        let mut run = Run::new(&world.base, Backend::Overlay, Home::BesideProject);
        run.launch();
        let compiled = PathRules::compile(&run.rules).unwrap();
        let upper = run.data();
        for (path, node) in &world.base {
            let decision = compiled.decide(path, node.is_dir());
            let parent = path.parent().unwrap();
            if decision.is_hidden() && !compiled.decide(parent, true).is_hidden() {
                let rule = run.rules[decision.rule.unwrap()].clone();
                run.record.hidden.push(HiddenPath { path: path.clone().into(), is_dir: node.is_dir(), rule });
            }
        }
        fill_upper(&run, world, rng, &upper, Path::new(""), true);
        run
    }

    pub(super) fn with_sides<T>(&self, then: impl FnOnce(&ThreeWay<'_>) -> T) -> T {
        let project = Tree::open(&self.project).unwrap();
        let mount = Tree::open(&self.data()).unwrap();
        let base = Manifest::read(&self.session, "manifest").unwrap();
        let made = Manifest::read(&self.session, "manifest.mount").unwrap();
        let contents = BaseContents::read(&self.session);
        then(&ThreeWay {
            record: &self.record,
            rules: &self.rules,
            project: &project,
            mount: &mount,
            base: base.as_ref(),
            made: made.as_ref(),
            contents: Some(&contents),
            earlier: Journal::earlier(&self.session).unwrap(),
            merging: self.merging,
        })
    }

    pub(super) fn context<'a>(&'a self, crash_points: &'a CrashPoints) -> Context<'a> {
        Context { session: &self.session, locks: &self.locks, crash_points, durable: false }
    }

    pub(super) fn review(&self) -> Review {
        self.with_sides(|sides| review(sides, Ignored::KeepOut).unwrap())
    }

    pub(super) fn apply(&self) -> ApplyOutcome {
        self.apply_with(&Selection::all(), Ignored::KeepOut)
    }

    pub(super) fn apply_with(&self, selection: &Selection, ignored: Ignored) -> ApplyOutcome {
        let crash_points = CrashPoints::none();
        self.with_sides(|sides| apply(&self.context(&crash_points), sides, selection, ignored).unwrap())
    }

    pub(super) fn apply_at(&self, crash_points: &CrashPoints) -> ApplyOutcome {
        let context = self.context(crash_points);
        self.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut).unwrap())
    }

    /// For another process: everything that it needs is in the session.
    pub(super) fn save(&self) {
        std::fs::write(self.session.join("mount.json"), serde_json::to_vec(&self.record).unwrap()).unwrap();
        std::fs::write(self.session.join("rules.json"), serde_json::to_vec(&self.rules).unwrap()).unwrap();
    }

    /// The session of another process.
    pub(super) fn load(session: &Path) -> Run {
        let record: MountRecord =
            serde_json::from_slice(&std::fs::read(session.join("mount.json")).unwrap()).unwrap();
        let home = session.parent().unwrap().parent().unwrap();
        Run {
            _dirs: Vec::new(),
            outside: record.root.parent().unwrap().join("outside"),
            project: record.root.0.clone(),
            session: session.to_owned(),
            locks: home.join("locks"),
            record,
            rules: rules(),
            merging: Merging::On,
        }
    }

    pub(super) fn inject(&mut self, path: &str, bytes: &[u8]) {
        let full = self.data().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        write_node(&full, &Node::File { bytes: bytes.to_vec(), mode: 0o644 });
        self.record.injected.push(InjectedRecord {
            path: path.into(),
            blake3: blake3::hash(bytes).to_hex().to_string(),
            mode: 0o644,
            replaces: self.project.join(path).exists(),
        });
    }
}

/// The namespace that works here: `trusted` is for root.
fn xattrs(session: &Path) -> XattrNamespace {
    let probe = session.join("probe");
    std::fs::create_dir(&probe).unwrap();
    let trusted =
        rustix::fs::setxattr(&probe, "trusted.overlay.opaque", b"y", rustix::fs::XattrFlags::empty()).is_ok();
    std::fs::remove_dir(&probe).unwrap();
    if trusted { XattrNamespace::Trusted } else { XattrNamespace::User }
}

pub(super) fn whiteout(path: &Path) {
    let mode = rustix::fs::Mode::empty();
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::CharacterDevice, mode, 0).unwrap();
}

pub(super) fn make_opaque(run: &Run, path: &Path) {
    let name = run.record.xattrs.unwrap().opaque();
    rustix::fs::setxattr(path, name, b"y", rustix::fs::XattrFlags::empty()).unwrap();
}

/// `merged`: the project shows through at this directory.
fn fill_upper(run: &Run, world: &World, rng: &mut Rng, upper: &Path, at: &Path, merged: bool) {
    let children = |tree: &Snapshot| -> Vec<PathBuf> {
        tree.keys().filter(|path| path.parent() == Some(at)).cloned().collect()
    };
    for path in children(&world.after) {
        let node = &world.after[&path];
        let full = upper.join(&path);
        let seen = world.seen.get(&path).filter(|_| merged);
        match (node, seen) {
            (Node::Dir { .. }, Some(before)) if before.is_dir() => {
                let same = world
                    .seen
                    .iter()
                    .filter(|(at, _)| at.starts_with(&path))
                    .eq(world.after.iter().filter(|(at, _)| at.starts_with(&path)));
                let holds_hidden = run.record.hidden.iter().any(|hidden| hidden.path.starts_with(&path));
                if same && !holds_hidden && !rng.one_in(4) {
                    continue;
                }
                write_node(&full, node);
                let opaque = rng.one_in(3);
                if opaque {
                    make_opaque(run, &full);
                }
                fill_upper(run, world, rng, upper, &path, !opaque);
            }
            (Node::Dir { .. }, _) => {
                write_node(&full, node);
                // Below a directory that is whole in the upper, or over a file, nothing shows through anyway.
                if merged && world.base.get(&path).is_some_and(Node::is_dir) {
                    make_opaque(run, &full);
                }
                fill_upper(run, world, rng, upper, &path, false);
            }
            // Copied up without a change, now and then.
            (node, Some(before)) if node == before && !rng.one_in(5) => {}
            (node, _) => write_node(&full, node),
        }
    }
    if merged {
        for path in children(&world.base) {
            let in_upper = std::fs::symlink_metadata(upper.join(&path)).is_ok();
            let is_hidden = !world.seen.contains_key(&path);
            if !in_upper && !world.after.contains_key(&path) && (is_hidden || world.seen.contains_key(&path))
            {
                whiteout(&upper.join(&path));
            }
        }
    }
}
