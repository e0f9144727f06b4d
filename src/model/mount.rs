//! What a mount is asked to be: root, backend, sandbox level and the rules for paths. Plain data; nothing is mounted here.

use super::path_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// In a session directory: the conversations of its runs at the sandbox level `strict`, as their harness has them.
pub const CONVERSATION_DIR: &str = "conversation";
/// Private layers over a harness's configuration, in the session directory.
pub const CONFIG_DIR: &str = "harness-config";

/// How the private view of the project is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Overlay where it really works here, else copy, with the reason.
    Auto,
    /// An overlay at the project's own path, in the child's mount namespace (Linux).
    Overlay,
    /// A reflinked or copied directory in the session.
    Copy,
    /// The real directory: `--install-in-repo`.
    None,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Overlay => "overlay",
            Backend::Copy => "copy",
            Backend::None => "none",
        }
    }
}

/// What must be protected while the harness runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    Off,
    /// The real project cannot be written and hidden files cannot be opened from inside.
    Project,
    /// Besides, nothing outside the mount and the harness's own state is writable.
    Strict,
}

impl Sandbox {
    pub fn name(self) -> &'static str {
        match self {
            Sandbox::Off => "off",
            Sandbox::Project => "project",
            Sandbox::Strict => "strict",
        }
    }
}

/// A device that the sandbox level `strict` hides unless the config lets it in. Its name is the path below `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Device {
    #[serde(rename = "fuse")]
    Fuse,
    #[serde(rename = "kvm")]
    Kvm,
    #[serde(rename = "net/tun")]
    Tun,
    #[serde(rename = "dri")]
    Dri,
    #[serde(rename = "nvidia*")]
    Nvidia,
    #[serde(rename = "bus/usb")]
    Usb,
    #[serde(rename = "ttyUSB*")]
    SerialUsb,
}

impl Device {
    pub const NAMES: [&'static str; 7] = ["fuse", "kvm", "net/tun", "dri", "nvidia*", "bus/usb", "ttyUSB*"];

    pub fn name(self) -> &'static str {
        Device::NAMES[self as usize]
    }
}

/// What a rule does to the paths that its pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Not there at all, from inside.
    Hidden,
    /// May be written inside; never applied.
    Readonly,
    /// Lifts a built-in secret rule; comes only from `mount.revealPatterns` of a persona or the config.
    Reveal,
    /// Decides what agents may do, and this run may change it: its changes are marked.
    Layer,
    /// The repository's own setup of a harness, which this run inherits: there, and never changed.
    Inherit,
}

/// Whether a run may change the files that decide what agents may do: persona layers and rule files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayerChanges {
    /// Such changes are never applied.
    #[default]
    Protected,
    /// The persona may make them (`mount.allowLayerChanges`); a person has to look at them before they are applied.
    Reviewed,
    /// The command line allows them (`--allow-layer-changes`).
    Allowed,
}

/// Where a rule came from, in rising order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleSource {
    /// Our own: secrets that are hidden by default.
    BuiltinSecret,
    /// Our own: the repository's harness configuration, hidden so that the persona decides.
    BuiltinHarness,
    /// Our own: persona layers and rule files. No other rule lifts these.
    BuiltinLayer,
    /// Our own: files of the work tree that git takes settings from or runs. No other rule lifts these.
    BuiltinGit,
    /// Our own: a file with credentials of a git repository that is an ordinary directory of the project.
    Credentials,
    /// Our own: a directory that could not be read when the run started.
    Unreadable,
    Config,
    Persona,
    /// `.agentignore` or `.agentreadonly` in the project root.
    ProjectFile,
    /// `.<id>.agentignore` or `.<id>.agentreadonly` in the project root.
    PersonaFile,
}

impl RuleSource {
    /// Whether its rules were made for single paths that the project had at the start, and are in the record of the mount alone.
    pub fn is_of_one_path(self) -> bool {
        matches!(self, RuleSource::Unreadable | RuleSource::Credentials)
    }
}

/// One line of gitignore grammar with its meaning and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathRule {
    pub pattern: String,
    pub effect: Effect,
    pub source: RuleSource,
    /// For people: the file (and line) or the key that says so.
    pub origin: String,
}

/// What the mount's own copy of a git configuration has of the credentials in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitCredentials {
    #[default]
    Hide,
    Keep,
}

impl GitCredentials {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_default(&self) -> bool {
        *self == GitCredentials::default()
    }
}

/// The mount that a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MountSpec {
    /// The directory that is mounted, absolute.
    #[serde(serialize_with = "path_text::serialize")]
    pub root: PathBuf,
    /// The child's working directory, relative to the root.
    #[serde(serialize_with = "path_text::serialize")]
    pub cwd: PathBuf,
    pub backend: Backend,
    /// The level that was asked for; `None` means the best the backend gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    pub rules: Vec<PathRule>,
    /// Whether changes to persona layers and rule files may be applied.
    #[serde(default)]
    pub layer_changes: LayerChanges,
    /// Heavy ignored directories that the copy backend brings in all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// What stays writable outside the mount at the sandbox level `strict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Devices that are let in at the sandbox level `strict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Sockets of services outside that stay reachable at the sandbox level `strict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "GitCredentials::is_default")]
    pub git_credentials: GitCredentials,
    /// The harness runs its commands in a sandbox of its own, which has to make mount namespaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested_sandbox: bool,
    /// The harness's configuration and the user's caches outside the project, protected at the sandbox level `strict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harness_config: Vec<HarnessConfig>,
    /// Layers outside of the root, by their real paths: nothing inside writes them. Every run finds them anew.
    #[serde(skip)]
    pub protected: Vec<PathBuf>,
    /// What a harness would take for its configuration above the root, and directories of hidden tests, by their real paths: it is
    /// empty inside.
    #[serde(skip)]
    pub above: Vec<PathBuf>,
}

/// A directory that a harness keeps its configuration and its state in. At the sandbox level `strict` it has a private layer:
/// the harness may write, and nothing changes outside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarnessConfig {
    pub dir: PathBuf,
    /// Directories with conversations: the session keeps what a run writes there, and a run that goes on with it has it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<String>,
    /// Paths among the conversations that tell later runs what to do, and are not kept. `*` stands for any one name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Entries that the harness writes in every run, and that say nothing when they are not kept. `*` at the start stands for any
    /// beginning.
    pub scratch: Vec<String>,
    /// A file from elsewhere that the directory has a copy of during the run, under its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logins: Option<Logins>,
}

/// A file of logins, JSON objects in an object. What the harness renews is kept, and nothing else of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Logins {
    pub file: String,
    /// The fields of a login that change when it is renewed.
    pub renewed: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn a_device_is_written_as_its_name() {
        for name in Device::NAMES {
            let device: Device = serde_json::from_value(name.into()).unwrap();
            assert_eq!(device.name(), name);
        }
    }
}
