//! What a mount really was: `mount.json` in the session directory, written before the child starts.
//! With it and the session directory alone, another process can compute the changes later; nothing is computed here.

use crate::model::mount::{Backend, PathRule, Sandbox};
use crate::model::raw_path::RawPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file in the session directory that holds a [`MountRecord`].
pub const MOUNT_RECORD_FILE: &str = "mount.json";
/// Beside it: the rules of the run, as the plan had them.
pub const RULES_FILE: &str = "rules.json";
/// What the run inherits of the repository's own setup.
pub const INHERIT_FILE: &str = "inherit.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MountRecord {
    pub schema_version: u32,
    /// The backend that ran: `overlay` or `copy` (or `none`).
    pub backend: Backend,
    /// Why `auto` did not take the overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The level that was reached.
    pub sandbox: Sandbox,
    pub containment: Containment,
    /// The real project directory, absolute, and which inode it was.
    pub root: RawPath,
    pub root_dev: u64,
    pub root_ino: u64,
    /// Where the agent's side of the project is, relative to the session directory:
    /// the overlay's upper directory (`upper`), or the copied tree (`mount`).
    pub data: RawPath,
    /// Overlay only: the namespace of its marks in `data` (`trusted.overlay.opaque` or `user.overlay.opaque`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xattrs: Option<XattrNamespace>,
    /// The top-most hidden paths that existed at launch, each with the rule that hid it. Whiteouts in an upper directory at these
    /// paths are ours, not the agent's; so is a directory there that is opaque because something is injected below it.
    pub hidden: Vec<HiddenPath>,
    #[serde(rename = "planted")]
    pub injected: Vec<InjectedRecord>,
    /// Copy only: what was not brought in although no rule hides it.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Copy only: sockets, fifos and devices.
    #[serde(default)]
    pub skipped_special: u64,
    /// Copy only: symlinks that were kept and point outside the project.
    #[serde(default)]
    pub outward_links: Vec<RawPath>,
    /// Links of the project that are rule files or layers, or parts of one, at any depth: what they lead to is protected, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layer_links: Vec<RawPath>,
    /// Entries of the project with the name of configuration of harnesses, at any depth: what links in it lead to and programs that
    /// it starts are protected, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<RawPath>,
    /// Git directories that were made private; the first is that of the root, if the root has one.
    #[serde(default)]
    pub git: Vec<GitRecord>,
    /// Taken before anything was read, from the clock that file times come from: a ctime that is not older may be a change by the user.
    pub launched_at: Instant,
}

impl MountRecord {
    /// A mount of this directory that hides, injects and leaves out nothing.
    pub fn bare(backend: Backend, sandbox: Sandbox, root: RawPath, launched_at: Instant) -> MountRecord {
        MountRecord {
            schema_version: 1,
            backend,
            fallback: None,
            sandbox,
            containment: Containment::Subreaper,
            root,
            root_dev: 0,
            root_ino: 0,
            data: RawPath::default(),
            xattrs: None,
            hidden: Vec::new(),
            injected: Vec::new(),
            left_out: Vec::new(),
            skipped_special: 0,
            outward_links: Vec::new(),
            layer_links: Vec::new(),
            setup: Vec::new(),
            git: Vec::new(),
            launched_at,
        }
    }

    /// Paths that are not the agent's: hidden, injected, left out.
    pub fn protected_paths(&self) -> impl Iterator<Item = &Path> {
        let hidden = self.hidden.iter().map(|hidden| hidden.path.0.as_path());
        let injected = self.injected.iter().map(|injected| injected.path.0.as_path());
        let left_out = self.left_out.iter().map(|left_out| left_out.path.0.as_path());
        hidden.chain(injected).chain(left_out)
    }

    pub fn is_protected(&self, path: &Path) -> bool {
        self.protected_paths().any(|protected| path.starts_with(protected))
    }

    /// Whether the agent's side is inside the session, as every mount leaves it. A run in the project itself has none.
    pub fn stays_in_session(&self) -> bool {
        if self.backend == Backend::None {
            return self.git.is_empty();
        }
        let is_inside =
            |path: &RawPath| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let outside = self.git.iter().flat_map(|git| &git.outside).map(|dir| &dir.upper);
        let git = self.git.iter().map(|git| &git.data);
        std::iter::once(&self.data).chain(git).chain(outside).all(is_inside)
    }
}

/// Where a moment lies, as file times say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Instant {
    pub seconds: i64,
    pub nanos: u32,
}

/// How the processes of a run are held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Containment {
    /// Own PID namespace with its own `/proc`: when our init ends, everything in it is gone.
    PidNamespace,
    /// A subreaper that sweeps its descendants.
    Subreaper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum XattrNamespace {
    Trusted,
    User,
}

impl XattrNamespace {
    /// The attribute that says that a directory hides what lies below it in the project.
    pub fn opaque(self) -> &'static str {
        match self {
            XattrNamespace::Trusted => "trusted.overlay.opaque",
            XattrNamespace::User => "user.overlay.opaque",
        }
    }

    /// The mark of what was copied from the layer below.
    pub fn origin(self) -> &'static str {
        match self {
            XattrNamespace::Trusted => "trusted.overlay.origin",
            XattrNamespace::User => "user.overlay.origin",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HiddenPath {
    /// Relative to the root.
    pub path: RawPath,
    pub is_dir: bool,
    /// The rule that decided.
    pub rule: PathRule,
}

/// In our home: what was not there when runs started that have not ended.
pub const WATCH_DIR: &str = "watch";

/// No file of ours is larger: what is, somebody else has written.
pub const LARGEST_INJECTED: u64 = 64 << 20;

/// A file of ours in the mount. It is not a change unless its bytes or mode differ at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InjectedRecord {
    /// Relative to the root.
    pub path: RawPath,
    /// Hexadecimal.
    pub blake3: String,
    pub mode: u32,
    /// Whether the project has something at this path, which the injected file stands in for.
    pub replaces: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Relative to the root.
    pub path: RawPath,
    pub reason: LeftOutReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutReason {
    /// A directory of build output or dependencies that git ignores.
    HeavyIgnored,
    /// A `.git` file that points at metadata outside the copy.
    GitPointer,
    /// It could not be read.
    Unreadable,
}

/// One private git directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRecord {
    /// The real directory of `HEAD` and `index` (`.git`, or `.git/worktrees/x`), absolute.
    pub git_dir: RawPath,
    /// The real directory of refs and objects, absolute; the same as `git_dir` in an ordinary repository.
    pub common_dir: RawPath,
    /// The agent's side of `common_dir`, relative to the session directory. Overlay: the upper directory over `common_dir`
    /// (`upper/.git`, or `git/0/upper`), which may not exist when nothing was written. Copy: a whole git directory (`mount/.git`).
    pub data: RawPath,
    /// Where its files are, relative to the root: the directory with the `.git`, which may be a file that points elsewhere. Records
    /// of older versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_tree: Option<RawPath>,
    /// Overlay only: the views that were mounted for this repository outside the root, `data` being that of the first if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<PrivateDir>,
    /// Tracked paths (relative to the work tree) that are marked skip-worktree in the mount's own index.
    #[serde(default)]
    pub skip_worktree: Vec<RawPath>,
    /// Paths (relative to the work tree) that the mount's own `info/exclude` names because they are injected.
    #[serde(default)]
    pub excluded: Vec<RawPath>,
}

/// A directory outside the root with a private view of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivateDir {
    /// The real directory, absolute.
    pub target: RawPath,
    /// Its upper directory, relative to the session directory; the work directory is `work` beside it.
    pub upper: RawPath,
}
