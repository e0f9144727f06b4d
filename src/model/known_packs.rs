//! Packs whose personas files in the wild build on, because the npm tool ships them.

const PERSONAS_CORE: &str = "@agentworkforce/personas-core";

/// Ids and intents in `@agentworkforce/personas-core` 0.8.0.
const IN_PERSONAS_CORE: [(&str, &str); 14] = [
    ("architecture-planner", "architecture-plan"),
    ("capability-discoverer", "capability-discovery"),
    ("code-reviewer", "review"),
    ("debugger", "debugging"),
    ("e2e-validator", "e2e-validation"),
    ("flake-hunter", "flake-investigation"),
    ("frontend-implementer", "implement-frontend"),
    ("integration-test-author", "write-integration-tests"),
    ("requirements-analyst", "requirements-analysis"),
    ("security-reviewer", "security-review"),
    ("tdd-guard", "tdd-enforcement"),
    ("technical-writer", "documentation"),
    ("test-strategist", "test-strategy"),
    ("verifier", "verification"),
];

fn is_known(name: &str) -> bool {
    let is_it = |(id, intent): &(&str, &str)| id.eq_ignore_ascii_case(name) || *intent == name;
    IN_PERSONAS_CORE.iter().any(is_it)
}

/// How to get a persona that is not here, if a known pack has it.
pub fn install_hint(name: &str) -> Option<String> {
    let hint =
        || format!("the npm tool ships `{name}`: `agentworkforce install {PERSONAS_CORE}` installs it");
    is_known(name).then(hint)
}

/// The same for the base of a persona, which has to be in a layer below that of the persona.
pub fn install_base_hint(name: &str, user_layer_is_below: bool) -> Option<String> {
    let hint = || {
        if user_layer_is_below {
            return format!(
                "the npm tool ships `{name}`: `agentworkforce install {PERSONAS_CORE} --in user` installs it below the project"
            );
        }
        format!(
            "the npm tool ships `{name}` in {PERSONAS_CORE}, which must be in a layer below this one: move this persona into the \
             project, and the pack into your own layer; docs/migration.md explains it"
        )
    };
    is_known(name).then(hint)
}
