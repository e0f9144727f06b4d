//! The three file formats, written down once: persona, role and config. Everything that reads, merges, documents or
//! validates them walks these tables.

use super::inherit::Inherit;
use super::mount::Device;
use super::shape::{Field, FieldStatus, Merge, Shape, TextRule};

/// The key with which codex goes without approvals and sandbox.
pub const BYPASS: &str = "dangerouslyBypassApprovalsAndSandbox";

pub const TIERS: [&str; 3] = ["best", "best-value", "minimum"];
pub const SIDECAR_MODES: [&str; 2] = ["overwrite", "extend"];
pub const PERMISSION_MODES: [&str; 4] = ["default", "acceptEdits", "bypassPermissions", "plan"];

const NOT_BLANK: Shape = Shape::Checked(TextRule::NotBlank);
const LINE: Shape = Shape::Checked(TextRule::Line);
const TEXTS: Shape = Shape::List(&NOT_BLANK);
const SUPPLIED: Shape = Shape::Checked(TextRule::Supplied);
const TEXT_MAP: Shape = Shape::Map(TextRule::NotBlank, &SUPPLIED);
const VARIABLES: Shape = Shape::Map(TextRule::VariableName, &SUPPLIED);
const VALUE: Shape = Shape::Checked(TextRule::Value);
const TOOLS: Shape = Shape::List(&Shape::Checked(TextRule::ToolEntry));
const SIDECAR_PATH: Shape = Shape::Checked(TextRule::SidecarPath);
const HARNESS: Shape = Shape::Checked(TextRule::Harness);

const INHERIT: Shape = Shape::List(&Shape::Choice(&Inherit::NAMES));

const CLAUDE_MD: Field =
    Field::new("claudeMd", SIDECAR_PATH, "The persona's own CLAUDE.md: a `.md` file next to this one.")
        .clears("claudeMdContent");
const CLAUDE_MD_CONTENT: Field =
    Field::new("claudeMdContent", NOT_BLANK, "The same as text, as packs inline it.").clears("claudeMd");
const CLAUDE_MD_MODE: Field = Field::new(
    "claudeMdMode",
    Shape::Choice(&SIDECAR_MODES),
    "`overwrite` replaces the repository's CLAUDE.md in the mount, `extend` comes after it.",
);
const AGENTS_MD: Field =
    Field::new("agentsMd", SIDECAR_PATH, "The persona's own AGENTS.md, for harnesses that read that file.")
        .clears("agentsMdContent");
const AGENTS_MD_CONTENT: Field =
    Field::new("agentsMdContent", NOT_BLANK, "The same as text, as packs inline it.").clears("agentsMd");
const AGENTS_MD_MODE: Field = Field::new(
    "agentsMdMode",
    Shape::Choice(&SIDECAR_MODES),
    "`overwrite` replaces the repository's AGENTS.md in the mount, `extend` comes after it.",
);

const SETTINGS: [Field; 7] = [
    Field::new("reasoning", VALUE, "Reasoning effort: low, medium, high, or a value of the harness."),
    Field::new(
        "timeoutSeconds",
        Shape::Above(0.0),
        "Wall-clock limit of a run, unless `limits.wallSeconds` is set.",
    ),
    Field::new(
        "sandboxMode",
        Shape::Choice(&["read-only", "workspace-write", "danger-full-access"]),
        "codex's own sandbox.",
    ),
    Field::new(
        "approvalPolicy",
        Shape::Choice(&["untrusted", "on-failure", "on-request", "never"]),
        "When codex asks before it runs something.",
    ),
    Field::new("workspaceWriteNetworkAccess", Shape::Flag, "Network inside codex's workspace-write sandbox."),
    Field::new("webSearch", Shape::Flag, "codex's web search."),
    Field::new(
        BYPASS,
        Shape::Flag,
        "codex without approvals and sandbox; the mount is then the only barrier.",
    ),
];

const RUNTIME_HARNESS: Field = Field::new("harness", HARNESS, "The coding agent that runs it.");
const RUNTIME_MODEL: Field = Field::new("model", VALUE, "The model; by default the harness chooses.");
const RUNTIME_PROMPT: Field =
    Field::text("systemPrompt", "The job. `$NAME` and `${NAME}` of declared inputs are filled in.");
const RUNTIME_SETTINGS: Field =
    Field::new("harnessSettings", Shape::Object(&SETTINGS), "Settings of the harness, merged per field.");

const TIER: [Field; 10] = [
    RUNTIME_HARNESS,
    RUNTIME_MODEL,
    RUNTIME_PROMPT,
    RUNTIME_SETTINGS,
    CLAUDE_MD,
    CLAUDE_MD_CONTENT,
    CLAUDE_MD_MODE,
    AGENTS_MD,
    AGENTS_MD_CONTENT,
    AGENTS_MD_MODE,
];

const TIER_TABLE: [Field; 3] = [
    Field::new("best", Shape::Object(&TIER), "The strongest choice for the job."),
    Field::new("best-value", Shape::Object(&TIER), "The everyday choice; the default."),
    Field::new("minimum", Shape::Object(&TIER), "The cheapest choice that still does the job."),
];

const INPUT: [Field; 6] = [
    Field::text("description", "What to provide."),
    Field::new(
        "env",
        Shape::Checked(TextRule::InputName),
        "The environment variable that supplies it; default: the name.",
    ),
    Field::text("default", "Used when nothing else supplies a value."),
    Field::new("optional", Shape::Flag, "May be missing; the value is then empty."),
    Field::new("type", Shape::Anything, "Kept for other tools.").status(FieldStatus::NotUsed),
    Field::new("picker", Shape::Anything, "Kept for other tools.").status(FieldStatus::NotUsed),
];

const SKILL: [Field; 3] = [
    Field::new("id", NOT_BLANK, "Its name."),
    Field::new(
        "source",
        NOT_BLANK,
        "A local directory or `.md`, a git URL, a prpm package, or a skills.sh form.",
    ),
    Field::text("description", "What it is for."),
];

const MCP_SERVER: [Field; 7] = [
    Field::new(
        "type",
        Shape::Choice(&["http", "sse", "stdio"]),
        "How to reach it; default: by `command` or `url`.",
    ),
    Field::new("command", NOT_BLANK, "The program of a stdio server."),
    Field::new("args", Shape::List(&Shape::Text), "Its arguments."),
    Field::new("env", VARIABLES, "Its environment; values may be env references."),
    Field::new("url", NOT_BLANK, "The address of an http or sse server."),
    Field::new("headers", TEXT_MAP, "Its headers; values may be env references."),
    Field::new("cwd", Shape::Anything, "Kept for other tools.").status(FieldStatus::NotUsed),
];

const PERMISSIONS: [Field; 5] = [
    Field::new("allow", TOOLS, "Tools and tool patterns that run without asking.")
        .merge(Merge::Union { removed_by: "removeAllow" }),
    Field::new("deny", TOOLS, "Tools and tool patterns that never run; beats `allow`.")
        .merge(Merge::Union { removed_by: "removeDeny" }),
    Field::new("removeAllow", TEXTS, "Entries to remove from an inherited `allow`.")
        .merge(Merge::Union { removed_by: "" }),
    Field::new("removeDeny", TEXTS, "Entries to remove from an inherited `deny`.")
        .merge(Merge::Union { removed_by: "" }),
    Field::new("mode", Shape::Choice(&PERMISSION_MODES), "What happens to everything else."),
];

const MOUNT: [Field; 9] = [
    Field::new("ignoredPatterns", TEXTS, "Gitignore patterns of paths that the agent must not see.")
        .merge(Merge::Append),
    Field::new("readonlyPatterns", TEXTS, "Gitignore patterns of paths whose changes are never applied.")
        .merge(Merge::Append),
    Field::new("includePatterns", TEXTS, "Large ignored directories that the copy backend copies anyway.")
        .merge(Merge::Append),
    Field::new(
        "revealPatterns",
        TEXTS,
        "Paths that the built-in rules hide and this persona needs: secrets, instructions, commands, skills.",
    )
    .merge(Merge::Append),
    Field::new(
        "allowLayerChanges",
        Shape::Flag,
        "Whether this persona may change personas, roles and rule files; a person has to approve such changes.",
    ),
    Field::new("backend", Shape::Choice(&["auto", "overlay", "copy"]), "How the private view is made."),
    Field::new(
        "sandbox",
        Shape::Choice(&["off", "project", "strict"]),
        "The protection level that a run requires.",
    ),
    Field::new(
        "enabled",
        Shape::Flag,
        "Kept for other tools; a persona cannot choose to run without a mount.",
    )
    .status(FieldStatus::Unsupported),
    Field::new("roots", Shape::Anything, "Kept for other tools.").status(FieldStatus::Unsupported),
];

const LIMITS: [Field; 7] = [
    Field::new("wallSeconds", Shape::Above(0.0), "Wall-clock limit of a run."),
    Field::new("idleSeconds", Shape::Above(0.0), "Maximum time without output while no tool runs."),
    Field::new("turns", Shape::Whole(1), "Maximum number of model turns."),
    Field::new("usd", Shape::AtLeast(0.0), "Maximum cost; 0 refuses to launch."),
    Field::new("processes", Shape::Whole(1), "Maximum number of processes and threads at a time."),
    Field::new("memoryMb", Shape::Whole(1), "Maximum memory; a run that needs more is ended."),
    Field::new("diskMb", Shape::Whole(1), "Maximum size of what a run writes to its mount."),
];

const NOT_USED: &str = "Read by other tools; not used by this runner.";
const fn not_used(key: &'static str) -> Field {
    Field::new(key, Shape::Anything, NOT_USED).status(FieldStatus::NotUsed)
}

/// A persona file, in the order in which people write one.
pub const PERSONA: &[Field] = &[
    Field::new("id", Shape::Checked(TextRule::Slug), "The persona's id; never changes.").keeps_inherited(),
    Field::new("extends", NOT_BLANK, "The persona of a lower layer that this file extends.")
        .keeps_inherited(),
    Field::text(
        "intent",
        "What it is for, as one word; a file with it and without `extends` inherits nothing.",
    )
    .keeps_inherited(),
    Field::text("description", "One sentence: when to use it."),
    Field::new("tags", TEXTS, "Tags to find it by."),
    Field::new("name", Shape::Checked(TextRule::DisplayName), "Display name; default: the id."),
    Field::new(
        "emoji",
        Shape::Checked(TextRule::Emoji),
        "Shown next to the name; an empty text clears an inherited one.",
    ),
    Field::new("role", LINE, "Key of the role whose charter it follows, or free text in one line."),
    Field::new(
        "expertise",
        Shape::Either(&[Shape::List(&Shape::Checked(TextRule::Term)), LINE]),
        "What it is good at: a list, or text separated by commas.",
    ),
    Field::new("defaultTier", Shape::Choice(&TIERS), "The tier when none is given; default: best-value."),
    RUNTIME_HARNESS.reaches_tiers(),
    RUNTIME_MODEL.reaches_tiers(),
    RUNTIME_PROMPT.reaches_tiers(),
    RUNTIME_SETTINGS.reaches_tiers(),
    Field::new("tiers", Shape::Object(&TIER_TABLE), "What each tier runs on."),
    CLAUDE_MD,
    CLAUDE_MD_CONTENT,
    CLAUDE_MD_MODE,
    AGENTS_MD,
    AGENTS_MD_CONTENT,
    AGENTS_MD_MODE,
    Field::new(
        "skills",
        Shape::List(&Shape::Either(&[Shape::Object(&SKILL), LINE])),
        "Skills to provide to the harness.",
    ),
    Field::new(
        "inputs",
        Shape::Map(TextRule::InputName, &Shape::Either(&[Shape::Object(&INPUT), Shape::Text])),
        "Values that a run fills in; a plain text is the default value.",
    ),
    Field::new("env", VARIABLES, "Environment of the harness; values may be env references."),
    Field::new(
        "mcpServers",
        Shape::Map(TextRule::NotBlank, &Shape::Object(&MCP_SERVER)),
        "MCP servers by name.",
    ),
    Field::new(
        "inherit",
        INHERIT,
        "What it takes over from the repository's own setup of harnesses; default: nothing.",
    ),
    Field::new("permissions", Shape::Object(&PERMISSIONS), "What the agent may do.").keeps_inherited(),
    Field::new("mount", Shape::Object(&MOUNT), "What the agent sees.").keeps_inherited(),
    Field::new("limits", Shape::Object(&LIMITS), "When a run is stopped."),
    Field::new("bareMode", Shape::Flag, "claude's bare mode: no CLAUDE.md, no extras."),
    Field::new("hermetic", Shape::Flag, "No user-level instruction files, skills or MCP servers."),
    Field::new("hermeticHarness", Shape::Flag, "Legacy spelling of `hermetic`.")
        .status(FieldStatus::Legacy("hermetic-harness")),
    Field::new("maxBudgetUsd", Shape::AtLeast(0.0), "Legacy spelling of `limits.usd`.")
        .status(FieldStatus::Legacy("max-budget-usd")),
    Field::new("monthlyBudgetUsd", Shape::AtLeast(0.0), "A budget over runs; not enforced yet.")
        .status(FieldStatus::Refused),
    Field::new("workspace_manifest", Shape::Anything, "A manifest of several workspaces; not read yet.")
        .status(FieldStatus::Refused),
    Field::new("builtin", Shape::Anything, "Ignored: it follows from the embedded library.")
        .status(FieldStatus::NotUsed),
    not_used("version"),
    not_used("slug"),
    not_used("traits"),
    not_used("cloud"),
    not_used("useSubscription"),
    not_used("integrations"),
    not_used("onEvent"),
    not_used("schedules"),
    not_used("watch"),
    not_used("memory"),
    not_used("relay"),
    not_used("capabilities"),
    not_used("sandbox"),
    not_used("deploy"),
    not_used("runtime"),
    not_used("aiMemory"),
    not_used("author"),
    not_used("license"),
];

/// A role file.
pub const ROLE: &[Field] = &[
    Field::new("label", Shape::Checked(TextRule::DisplayName), "The role's display name."),
    Field::text("charter", "What the role is responsible for, as Markdown.").clears("charterFile"),
    Field::new("charterFile", SIDECAR_PATH, "The same as a `.md` file next to this one.").clears("charter"),
    Field::new("defaultHarness", HARNESS, "Harness for personas that set none."),
    Field::new("defaultModel", VALUE, "Model for personas that set none, on that harness."),
    Field::new("builtin", Shape::Anything, "Ignored: it follows from the embedded library.")
        .status(FieldStatus::NotUsed),
];

const SIDECAR_CONFIG: [Field; 1] = [Field::new(
    "codex",
    Shape::Choice(&["mount", "skip"]),
    "`skip` gives codex no AGENTS.md sidecar; default `mount`.",
)];

const SECRETS_CONFIG: [Field; 1] = [Field::new(
    "minLength",
    Shape::Whole(4),
    "Values of referenced variables are redacted from this length on; default 12.",
)];

const SESSIONS_CONFIG: [Field; 2] = [
    Field::new(
        "keepDays",
        Shape::Whole(0),
        "How many days finished sessions are kept, 0 for ever; default 90. Unapplied work is always kept.",
    ),
    Field::new(
        "keepGb",
        Shape::Whole(1),
        "How many gigabytes finished sessions may take; the oldest go first, none on its first day. Default no limit.",
    ),
];

const CONFIG_BACKENDS: Shape = Shape::Choice(&["auto", "overlay", "copy", "none"]);
const MOUNT_CONFIG: [Field; 9] = [
    Field::new("backend", CONFIG_BACKENDS, "How mounts are made; default auto."),
    Field::new(
        "sandbox",
        Shape::Choice(&["off", "project", "strict"]),
        "The protection level that every run requires.",
    ),
    Field::new("ignoredPatterns", TEXTS, "Paths hidden from every persona."),
    Field::new("readonlyPatterns", TEXTS, "Paths whose changes are never applied, for every persona."),
    Field::new(
        "revealPatterns",
        TEXTS,
        "Secrets, instructions, commands and skills that the built-in rules hide and every persona may see.",
    ),
    Field::new(
        "devices",
        Shape::List(&Shape::Choice(&Device::NAMES)),
        "Devices in `/dev` that `strict` runs may use besides the harmless ones.",
    ),
    Field::new(
        "sockets",
        TEXTS,
        "Sockets of services that `strict` runs may reach: absolute paths, or `ssh-agent`.",
    ),
    Field::new(
        "gitCredentials",
        Shape::Choice(&["hide", "keep"]),
        "`keep` shows agents the tokens in `.git/config` (headers, urls); default hide.",
    ),
    Field::new(
        "merge",
        Shape::Flag,
        "Whether your edits and the agent's to different lines of one file are merged; default true.",
    ),
];

const SELF_REVIEW_CONFIG: [Field; 2] = [
    Field::new(
        "default_rules",
        TEXTS,
        "The rules that a worker's self-review answers, in order; replaces the built-in ones.",
    ),
    Field::new("extra_rules", TEXTS, "Rules that come after those."),
];

const WORKER_CONFIG: [Field; 1] =
    [Field::new("self_review", Shape::Object(&SELF_REVIEW_CONFIG), "What a worker's self-review answers.")];

const TDD_ENFORCE_CONFIG: [Field; 1] = [Field::new(
    "enabled",
    Shape::Flag,
    "Whether a contract's `tdd_required` is enforced by running the tests on the base; default true.",
)];

const TDD_CONFIG: [Field; 1] =
    [Field::new("enforce", Shape::Object(&TDD_ENFORCE_CONFIG), "Whether red tests are required.")];

const CONTEXT_BUDGETS_CONFIG: [Field; 4] = [
    Field::new("directive", Shape::Whole(1), "Tokens for the directive; default 500."),
    Field::new("conversation", Shape::Whole(1), "Tokens for the summary of the conversation; default 300."),
    Field::new("messages", Shape::Whole(1), "Tokens for the recent messages; default 800."),
    Field::new("validation", Shape::Whole(1), "Tokens for the verifier's validation context; default 400."),
];

const CONTEXT_CONFIG: [Field; 3] = [
    Field::new(
        "threshold",
        Shape::Whole(1),
        "Number of messages of a task from which on they are shortened; default 12.",
    ),
    Field::new(
        "summarizer",
        NOT_BLANK,
        "The persona that sums up older messages; without one they are left out.",
    ),
    Field::new("budgets", Shape::Object(&CONTEXT_BUDGETS_CONFIG), "How long each section may be, in tokens."),
];

/// `config.json` in the workforce home.
pub const CONFIG: &[Field] = &[
    Field::new("personaDirs", TEXTS, "Directories of personas, highest first; replaces the user directory."),
    Field::new("defaultCreateTarget", NOT_BLANK, "Where `create` writes: project, user or a directory."),
    Field::new("defaultHarness", HARNESS, "Harness where neither persona nor role sets one."),
    Field::new("defaultModel", VALUE, "Model where neither persona nor role sets one, on that harness."),
    Field::new("bareMode", Shape::Flag, "claude's bare mode for personas that do not say."),
    Field::new("hermetic", Shape::Flag, "Hermetic runs for personas that do not set it."),
    Field::new(
        "inherit",
        INHERIT,
        "What personas that do not say take over from the repository's own setup; default nothing.",
    ),
    Field::new("limits", Shape::Object(&LIMITS), "Limits for personas that do not set them."),
    Field::new(
        "mount",
        Shape::Either(&[Shape::Object(&MOUNT_CONFIG), CONFIG_BACKENDS]),
        "Backend, sandbox and path rules for every persona; a text is the backend.",
    ),
    Field::new("sidecar", Shape::Object(&SIDECAR_CONFIG), "Which harnesses get a sidecar."),
    Field::new(
        "notify",
        Shape::Either(&[Shape::Choice(&["bell", "off"]), TEXTS]),
        "What tells you that a long headless run has ended: `bell`, or a command and its arguments as a list; default `off`.",
    ),
    Field::new(
        "notifyAfterSeconds",
        Shape::AtLeast(0.0),
        "The shortest run that `notify` is for; default 60.",
    ),
    Field::new("secrets", Shape::Object(&SECRETS_CONFIG), "What counts as a secret in logs and reports."),
    Field::new("sessions", Shape::Object(&SESSIONS_CONFIG), "How long finished sessions are kept."),
    Field::new("worker", Shape::Object(&WORKER_CONFIG), "What `work` asks of workers."),
    Field::new("tdd", Shape::Object(&TDD_CONFIG), "Test-driven development in `work`."),
    Field::new("plans_file", NOT_BLANK, "The plan file, relative to the project; default `Plans.md`."),
    Field::new("context", Shape::Object(&CONTEXT_CONFIG), "What `work` tells agents besides the task."),
    Field::new(
        "features",
        Shape::Map(TextRule::NotBlank, &Shape::Flag),
        "Feature flags; see `config features`.",
    ),
];
