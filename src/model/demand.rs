//! What a persona can demand of a run, as the enforcement matrix names it. Whether it is enforced is decided elsewhere.

use serde::{Serialize, Serializer};
use std::fmt;

/// A field of a persona that a harness, the mount or the runner has to enforce. Its text is the path in the persona file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    Model,
    Reasoning,
    SandboxMode,
    ApprovalPolicy,
    NetworkAccess,
    WebSearch,
    BypassApprovalsAndSandbox,
    Skills,
    Skill(String),
    McpServers,
    McpServer(String),
    Allow,
    Deny,
    PermissionMode,
    Hermetic,
    InheritInstructions,
    InheritCommands,
    InheritSkills,
    InheritMcp,
    InheritHooks,
    BareMode,
    Turns,
    Usd,
    WallSeconds,
    IdleSeconds,
    Processes,
    MemoryMb,
    DiskMb,
    Sidecar,
    ClaudeMd,
    AgentsMd,
    Mount,
    MountSandbox,
    MountSockets,
    MountHidden,
    MountReadonly,
    MountLayers,
    MountEnabled,
    MountRoots,
    Env,
    Variable(String),
    MonthlyBudget,
    WorkspaceManifest,
    /// Of the caller: no other agents.
    NoSubagents,
    /// Of the caller: the form of the final answer.
    OutputSchema,
}

impl Demand {
    /// A restriction that is planned: until then, a run that would ignore it is refused.
    pub fn is_planned_restriction(&self) -> bool {
        matches!(self, Demand::MonthlyBudget | Demand::WorkspaceManifest)
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Demand::Model => "model",
            Demand::Reasoning => "harnessSettings.reasoning",
            Demand::SandboxMode => "harnessSettings.sandboxMode",
            Demand::ApprovalPolicy => "harnessSettings.approvalPolicy",
            Demand::NetworkAccess => "harnessSettings.workspaceWriteNetworkAccess",
            Demand::WebSearch => "harnessSettings.webSearch",
            Demand::BypassApprovalsAndSandbox => "harnessSettings.dangerouslyBypassApprovalsAndSandbox",
            Demand::Skills => "skills",
            Demand::Skill(id) => return write!(f, "skills.{id}"),
            Demand::McpServers => "mcpServers",
            Demand::McpServer(name) => return write!(f, "mcpServers.{name}"),
            Demand::Allow => "permissions.allow",
            Demand::Deny => "permissions.deny",
            Demand::PermissionMode => "permissions.mode",
            Demand::Hermetic => "hermetic",
            Demand::InheritInstructions => "inherit.instructions",
            Demand::InheritCommands => "inherit.commands",
            Demand::InheritSkills => "inherit.skills",
            Demand::InheritMcp => "inherit.mcp",
            Demand::InheritHooks => "inherit.hooks",
            Demand::BareMode => "bareMode",
            Demand::Turns => "limits.turns",
            Demand::Usd => "limits.usd",
            Demand::WallSeconds => "limits.wallSeconds",
            Demand::IdleSeconds => "limits.idleSeconds",
            Demand::Processes => "limits.processes",
            Demand::MemoryMb => "limits.memoryMb",
            Demand::DiskMb => "limits.diskMb",
            Demand::Sidecar => "sidecar",
            Demand::ClaudeMd => "claudeMd",
            Demand::AgentsMd => "agentsMd",
            Demand::Mount => "mount",
            Demand::MountSandbox => "mount.sandbox",
            Demand::MountSockets => "mount.sandbox.sockets",
            Demand::MountHidden => "mount.hidden",
            Demand::MountReadonly => "mount.readonly",
            Demand::MountLayers => "mount.layers",
            Demand::MountEnabled => "mount.enabled",
            Demand::MountRoots => "mount.roots",
            Demand::Env => "env",
            Demand::Variable(name) => return write!(f, "env.{name}"),
            Demand::MonthlyBudget => "monthlyBudgetUsd",
            Demand::WorkspaceManifest => "workspace_manifest",
            Demand::NoSubagents => "run.noSubagents",
            Demand::OutputSchema => "run.outputSchema",
        })
    }
}

impl Serialize for Demand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
