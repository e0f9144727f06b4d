//! Every demand that a plan can call `enforced` has a test in which it is tried, and this is the table of them.
//! A new `enforced` in an adapter without a line here fails, and so does a line without its `enforced` or its test.

use agentworkforce::model::demand::Demand;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Who says it (an adapter, or `run` for the rows of every harness), the field, and the tests as `file::test`.
const COVERED: [(&str, &str, &[&str]); 52] = [
    ("claude", "run.noSubagents", &["real/worked::claudes_honest_work_is_approved"]),
    ("opencode", "run.noSubagents", &["real/worked::opencodes_honest_work_is_approved"]),
    (
        "run",
        "sidecar",
        &[
            "it/launch_sidecars::overwrite_gives_exactly_the_personas_bytes",
            "it/launch_sidecars::extend_gives_the_real_file_a_separator_and_the_personas_text",
            "real/launched_headless::extend_shows_the_model_both_files",
        ],
    ),
    (
        "run",
        "mount.sandbox",
        &[
            "it/launch_enforced::a_project_sandbox_keeps_the_real_project_from_being_written",
            "it/launch_enforced::a_strict_sandbox_leaves_the_project_and_nothing_else",
            "it/launch_enforced::a_sandbox_that_cannot_be_had_ends_the_run_before_it_starts",
            "real/enforced_sandbox::claude_works_in_a_strict_sandbox",
            "real/enforced_sandbox::opencode_works_in_a_strict_sandbox",
            "real/enforced_sandbox::codex_works_in_a_strict_sandbox",
        ],
    ),
    (
        "run",
        "mount.sandbox.sockets",
        &[
            "it/attacks/sockets::a_service_outside_cannot_be_reached_at_strict",
            "it/attacks/sockets::a_service_without_a_path_cannot_be_reached_at_strict",
        ],
    ),
    (
        "run",
        "mount.hidden",
        &[
            "it/launch_enforced::what_a_persona_hides_cannot_be_opened_from_inside",
            "it/launch_enforced::as_root_strict_refuses_a_run_that_gets_less_than_the_plan_says",
            "it/e2e_hidden::hidden_files_cannot_be_found_or_read_in_any_way_from_inside_an_overlay",
            "real/launched_headless::the_whole_persona_reaches_the_model_and_its_work_is_applied",
        ],
    ),
    ("run", "inherit.instructions", &INHERITED),
    ("run", "inherit.commands", &INHERITED),
    ("run", "inherit.skills", &INHERITED),
    ("claude", "inherit.mcp", &["real/inherited::claude_has_the_servers_of_the_repository_and_of_the_user"]),
    ("codex", "inherit.hooks", &["real/inherited::codex_runs_the_hooks_of_the_repository"]),
    ("claude", "inherit.hooks", &["real/inherited::claude_runs_the_hooks_of_the_repository"]),
    ("codex", "inherit.mcp", &["real/inherited::codex_has_the_servers_of_the_repository_and_of_the_user"]),
    (
        "opencode",
        "mcpServers",
        &["real/inherited::opencode_has_the_servers_of_the_repository_and_of_the_user"],
    ),
    (
        "opencode",
        "inherit.mcp",
        &["real/inherited::opencode_has_the_servers_of_the_repository_and_of_the_user"],
    ),
    ("run", "mount.readonly", &["it/launch_enforced::what_is_read_only_is_never_applied"]),
    (
        "run",
        "mount.layers",
        &[
            "it/attacks/persona_layers::a_headless_agent_cannot_rewrite_its_own_persona",
            "it/attacks/persona_layers::a_persona_whose_job_it_is_needs_a_persons_approval",
            "it/attacks/persona_layers::a_persons_own_command_may_change_layers_and_the_review_marks_them",
        ],
    ),
    (
        "run",
        "limits.wallSeconds",
        &[
            "it/launch_enforced::wall_and_idle_seconds_of_a_persona_end_a_run_on_every_harness",
            "it/launch_enforced::wall_seconds_end_a_run_in_a_terminal_too",
            "real/launched_headless::a_model_that_hangs_is_ended_at_the_limit",
        ],
    ),
    (
        "run",
        "limits.idleSeconds",
        &[
            "it/launch_enforced::wall_and_idle_seconds_of_a_persona_end_a_run_on_every_harness",
            "real/launched_headless::an_opencode_that_hears_nothing_more_is_idle",
        ],
    ),
    (
        "run",
        "limits.processes",
        &[
            "it/attacks/limits::a_fork_bomb_stops_at_the_limit_or_the_matrix_says_that_it_does_not",
            "it/attacks/limits::nothing_inside_leaves_its_control_group",
        ],
    ),
    (
        "run",
        "limits.memoryMb",
        &[
            "it/attacks/limits::a_process_that_takes_memory_is_ended_or_the_matrix_says_that_it_is_not",
            "it/attacks/limits::nothing_inside_leaves_its_control_group",
        ],
    ),
    (
        "run",
        "limits.diskMb",
        &[
            "it/attacks/limits::a_run_that_fills_the_disk_is_ended_and_its_work_is_held",
            "it/launch_enforced::a_disk_limit_ends_a_task_on_every_harness",
        ],
    ),
    (
        "run",
        "env",
        &[
            "it/launch_enforced::variables_of_a_persona_are_in_the_environment_and_those_left_out_are_told",
            "it/launch_secrets::the_value_is_in_the_environment_and_nowhere_else",
        ],
    ),
    (
        "claude",
        "model",
        &[
            "real/enforced_by_claude::model_effort_and_servers_are_the_personas",
            "real/launched_interactive::claude_in_a_terminal",
        ],
    ),
    (
        "claude",
        "harnessSettings.reasoning",
        &["real/enforced_by_claude::model_effort_and_servers_are_the_personas"],
    ),
    ("claude", "mcpServers", &["real/enforced_by_claude::model_effort_and_servers_are_the_personas"]),
    (
        "claude",
        "skills",
        &[
            "real/launched_headless::the_whole_persona_reaches_the_model_and_its_work_is_applied",
            "real/launched_interactive::claude_in_a_terminal",
        ],
    ),
    (
        "claude",
        "bareMode",
        &["real/enforced_by_claude::bare_mode_is_bare_and_the_skills_and_the_sidecar_are_not_promised"],
    ),
    ("claude", "hermetic", &["real/enforced_by_claude::hermetic_keeps_out_everything_of_the_user"]),
    (
        "claude",
        "permissions.allow",
        &[
            "real/enforced_permissions::claude_runs_what_is_allowed_and_nothing_chained_to_it",
            "real/launched_headless::an_empty_allow_list_allows_nothing",
        ],
    ),
    (
        "claude",
        "permissions.deny",
        &[
            "real/enforced_permissions::claude_without_questions_obeys_a_denied_pattern",
            "real/launched_headless::a_denied_tool_is_denied",
            "real/launched_interactive::claude_in_a_terminal",
        ],
    ),
    (
        "claude",
        "permissions.mode",
        &[
            "real/enforced_permissions::claude_changes_nothing_while_it_plans",
            "real/enforced_permissions::claude_accepts_edits_and_not_commands",
            "real/enforced_permissions::claude_runs_what_is_allowed_and_nothing_chained_to_it",
            "real/enforced_permissions::claude_without_questions_obeys_a_denied_pattern",
        ],
    ),
    ("claude", "limits.turns", &["real/launched_headless::limits_of_turns_and_money_hold_on_claude"]),
    (
        "claude",
        "limits.usd",
        &[
            "real/launched_headless::limits_of_turns_and_money_hold_on_claude",
            "it/launch_enforced::a_cap_of_zero_starts_nothing_on_any_harness",
        ],
    ),
    (
        "opencode",
        "model",
        &[
            "real/launched_headless::the_whole_persona_reaches_the_model_and_its_work_is_applied",
            "real/launched_interactive::opencode_in_a_terminal",
        ],
    ),
    (
        "opencode",
        "skills",
        &[
            "real/launched_headless::the_whole_persona_reaches_the_model_and_its_work_is_applied",
            "real/launched_interactive::opencode_in_a_terminal",
        ],
    ),
    (
        "opencode",
        "permissions.allow",
        &[
            "real/enforced_permissions::opencode_runs_what_is_allowed_and_nothing_chained_to_it",
            "real/launched_headless::an_empty_allow_list_allows_nothing",
        ],
    ),
    (
        "opencode",
        "permissions.deny",
        &[
            "real/enforced_permissions::opencode_without_questions_obeys_a_denied_pattern",
            "real/launched_headless::a_denied_tool_is_denied",
            "real/launched_interactive::opencode_in_a_terminal",
        ],
    ),
    (
        "opencode",
        "permissions.mode",
        &[
            "real/enforced_permissions::opencode_changes_nothing_while_it_plans",
            "real/enforced_permissions::opencode_accepts_edits_and_not_commands",
            "real/enforced_permissions::opencode_runs_what_is_allowed_and_nothing_chained_to_it",
            "real/enforced_permissions::opencode_without_questions_obeys_a_denied_pattern",
        ],
    ),
    ("opencode", "limits.usd", &["it/launch_enforced::a_cap_of_zero_starts_nothing_on_any_harness"]),
    (
        "codex",
        "model",
        &[
            "real/enforced_by_codex::model_effort_and_search_are_in_the_request",
            "real/launched_interactive::codex_in_a_terminal",
        ],
    ),
    (
        "codex",
        "harnessSettings.reasoning",
        &["real/enforced_by_codex::model_effort_and_search_are_in_the_request"],
    ),
    (
        "codex",
        "harnessSettings.webSearch",
        &["real/enforced_by_codex::model_effort_and_search_are_in_the_request"],
    ),
    ("codex", "harnessSettings.sandboxMode", &[SANDBOX]),
    ("codex", "harnessSettings.approvalPolicy", &[SANDBOX]),
    ("codex", "harnessSettings.workspaceWriteNetworkAccess", &[SANDBOX]),
    ("codex", "harnessSettings.dangerouslyBypassApprovalsAndSandbox", &[SANDBOX]),
    ("codex", "permissions.mode", &[SANDBOX]),
    ("codex", "permissions.deny", &[SANDBOX, "real/launched_headless::a_denied_tool_is_denied"]),
    ("codex", "mcpServers", &["real/enforced_by_codex::hermetic_leaves_the_servers_of_the_user_out"]),
    (
        "codex",
        "skills",
        &[
            "real/launched_headless::the_whole_persona_reaches_the_model_and_its_work_is_applied",
            "real/launched_interactive::codex_in_a_terminal",
        ],
    ),
    ("codex", "limits.usd", &["it/launch_enforced::a_cap_of_zero_starts_nothing_on_any_harness"]),
];

/// Every demand that is called enforced somewhere.
const DEMANDS: [Demand; 34] = [
    Demand::NoSubagents,
    Demand::InheritInstructions,
    Demand::InheritCommands,
    Demand::InheritSkills,
    Demand::InheritMcp,
    Demand::InheritHooks,
    Demand::Model,
    Demand::Reasoning,
    Demand::SandboxMode,
    Demand::ApprovalPolicy,
    Demand::NetworkAccess,
    Demand::WebSearch,
    Demand::BypassApprovalsAndSandbox,
    Demand::Skills,
    Demand::McpServers,
    Demand::Allow,
    Demand::Deny,
    Demand::PermissionMode,
    Demand::Hermetic,
    Demand::BareMode,
    Demand::Turns,
    Demand::Usd,
    Demand::WallSeconds,
    Demand::IdleSeconds,
    Demand::Processes,
    Demand::MemoryMb,
    Demand::DiskMb,
    Demand::Sidecar,
    Demand::MountSandbox,
    Demand::MountSockets,
    Demand::MountHidden,
    Demand::MountReadonly,
    Demand::MountLayers,
    Demand::Env,
];

const INHERITED: [&str; 5] = [
    "it/inherit::each_kind_shows_its_own_files_on_every_harness_and_backend",
    "it/inherit::what_is_inherited_is_never_changed",
    "real/inherited::claude_sees_instructions_commands_and_skills_of_the_repository",
    "real/inherited::codex_sees_instructions_and_skills_of_the_repository",
    "real/inherited::opencode_sees_instructions_commands_and_skills_of_the_repository",
];

const SANDBOX: &str = "real/enforced_by_codex::the_sandbox_holds_what_the_persona_says";

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The fields that a source file calls enforced.
fn enforced_in(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let field = |call: &str| {
        let name = call.trim_start().strip_prefix("Demand::").and_then(|rest| rest.split([',', '(']).next());
        let name = name.unwrap_or_else(|| panic!("{}: `enforced` without a `Demand`", file.display()));
        let demand = DEMANDS.iter().find(|demand| format!("{demand:?}") == name);
        demand.unwrap_or_else(|| panic!("{name} is not in DEMANDS")).to_string()
    };
    text.split(".enforced(").skip(1).map(field).collect()
}

#[test]
fn everything_that_is_called_enforced_has_a_test() {
    let files = [
        ("run", "src/plan/enforcement.rs"),
        ("claude", "src/harness/claude/plan.rs"),
        ("opencode", "src/harness/opencode/plan.rs"),
        ("opencode", "src/harness/opencode/permission.rs"),
        ("codex", "src/harness/codex/plan.rs"),
    ];
    let said: BTreeSet<(&str, String)> = files
        .into_iter()
        .flat_map(|(who, file)| enforced_in(&here().join(file)).into_iter().map(move |field| (who, field)))
        .collect();
    let covered: BTreeSet<(&str, String)> =
        COVERED.iter().map(|(who, field, _)| (*who, (*field).to_owned())).collect();
    assert_eq!(said, covered, "what plans call enforced (left) is not what is tested (right)");
}

/// No other file may call anything enforced: the table would not know.
#[test]
fn nobody_else_calls_anything_enforced() {
    fn look(dir: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                look(&path, found);
            } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(".enforced(")) {
                let below = path.strip_prefix(here().join("src")).expect("below src");
                found.insert(below.display().to_string());
            }
        }
    }
    let mut found = BTreeSet::new();
    look(&here().join("src"), &mut found);
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "harness/claude/plan.rs",
            "harness/codex/plan.rs",
            "harness/example/plan.rs",
            "harness/opencode/permission.rs",
            "harness/opencode/plan.rs",
            "plan/enforcement.rs",
        ]
    );
}

#[test]
fn the_tests_of_the_table_are_there() {
    for (who, field, tests) in COVERED {
        assert!(!tests.is_empty(), "{who} {field}");
        for test in tests {
            let (file, name) = test.split_once("::").expect("file::test");
            let text = std::fs::read_to_string(here().join("tests").join(file).with_extension("rs"));
            let text = text.unwrap_or_else(|error| panic!("{test}: {error}"));
            assert!(text.contains(&format!("#[test]\nfn {name}() {{")), "{who} {field}: there is no {test}");
        }
    }
}
