//! What the machine and the project allow a mount to be, found out by `mount::probe`: an input to the pure plan.
//! It decides nothing by itself except which backend `auto` means.

use crate::model::mount::{Backend, Sandbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The probe's answer for one project on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MountFacts {
    /// What a real mount in a throwaway namespace showed.
    pub host: HostMounts,
    /// Why this project cannot be overlaid, although the machine could.
    pub obstacles: Vec<Obstacle>,
}

/// Something about a project that an overlay cannot deal with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// Another filesystem is mounted here, below the project.
    MountedBelow(PathBuf),
    /// An overlay here has the project, or a part of it, as a layer: what is hidden shows there all the same.
    LayerOf(PathBuf),
    /// This belongs to another user or group, and the overlay is in a user namespace.
    ForeignOwner(PathBuf),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::MountedBelow(path) => {
                write!(f, "another filesystem is mounted at `{}`", path.display())
            }
            Obstacle::LayerOf(path) => {
                write!(f, "the overlay at `{}` shows files of the project, too", path.display())
            }
            Obstacle::ForeignOwner(path) => {
                write!(f, "`{}` belongs to another user or group", path.display())
            }
        }
    }
}

/// What this machine can do, whatever the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostMounts {
    pub overlay: OverlayWay,
    /// Why there is no overlay, in words for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay_reason: Option<String>,
    /// The reason is the filesystem of the state directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub state_unfit: bool,
    /// Whether a PID namespace with its own `/proc` works.
    pub pid_namespace: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace_reason: Option<String>,
    /// Whether a run can be kept from sockets that have a name and no path. Asked of the kernel each time.
    #[serde(default)]
    pub scoped_sockets: bool,
    /// Whether files can be cloned on the filesystem of the state directory.
    pub reflink: bool,
}

/// By which right an overlay is mounted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverlayWay {
    /// With a capability that the process has.
    Capable,
    /// In a user namespace of its own.
    UserNamespace,
    Unavailable,
}

impl MountFacts {
    /// The backend that a wish comes down to here, and for `auto` why it is not the overlay.
    pub fn choose(&self, wanted: Backend) -> (Backend, Option<String>) {
        match (wanted, self.why_not_overlay()) {
            (Backend::Auto, None) => (Backend::Overlay, None),
            (Backend::Auto, reason @ Some(_)) => (Backend::Copy, reason),
            (other, _) => (other, None),
        }
    }

    /// The reason that speaks against the overlay, if there is one.
    pub fn why_not_overlay(&self) -> Option<String> {
        if self.host.overlay == OverlayWay::Unavailable {
            return Some(
                self.host.overlay_reason.clone().unwrap_or_else(|| "overlay mounts do not work here".into()),
            );
        }
        self.obstacles.first().map(ToString::to_string)
    }

    /// The best level that a backend gives without being asked. Root without a PID namespace sees root's other processes, and
    /// through those that have no more capabilities than it (containers, other runs) the real project: that is no wall.
    pub fn best_sandbox(&self, backend: Backend) -> Sandbox {
        match backend {
            Backend::Overlay if self.host.overlay == OverlayWay::Capable && !self.host.pid_namespace => {
                Sandbox::Off
            }
            Backend::Overlay => Sandbox::Project,
            Backend::Auto | Backend::Copy | Backend::None => Sandbox::Off,
        }
    }
}
