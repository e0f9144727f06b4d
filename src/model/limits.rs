//! The limits of a run: when it is stopped, and what it may use up. Whether a limit holds here is decided in `plan`, and what
//! happens when it is reached in `mount`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a persona, the config or the command line says about limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Processes and threads at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// What the mount's private layer may take on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<u64>,
}

impl Limits {
    /// Field by field, these limits where they say something, else the others.
    #[must_use]
    pub fn over(self, below: Limits) -> Limits {
        Limits {
            wall_seconds: self.wall_seconds.or(below.wall_seconds),
            idle_seconds: self.idle_seconds.or(below.idle_seconds),
            turns: self.turns.or(below.turns),
            usd: self.usd.or(below.usd),
            processes: self.processes.or(below.processes),
            memory_mb: self.memory_mb.or(below.memory_mb),
            disk_mb: self.disk_mb.or(below.disk_mb),
        }
    }

    /// Whether a control group has to hold some of them.
    pub fn need_control_group(self) -> bool {
        self.processes.is_some() || self.memory_mb.is_some()
    }
}

/// A number of megabytes in bytes.
pub fn bytes_of_mb(megabytes: u64) -> u64 {
    megabytes.saturating_mul(1024 * 1024)
}

/// Why a control group cannot hold a limit here; nothing where it can.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitObstacles {
    pub processes: Option<String>,
    pub memory: Option<String>,
}

impl LimitObstacles {
    /// Those of the limits that a control group can hold here.
    #[must_use]
    pub fn enforceable(&self, limits: Limits) -> Limits {
        Limits {
            processes: limits.processes.filter(|_| self.processes.is_none()),
            memory_mb: limits.memory_mb.filter(|_| self.memory.is_none()),
            ..Limits::default()
        }
    }
}
