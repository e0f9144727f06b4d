//! Every legacy spelling that is still read, in one table, so that each has a way out.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deprecation {
    pub id: &'static str,
    pub what: &'static str,
    /// Where it is found.
    pub place: &'static str,
    pub instead: &'static str,
    /// What must be true before it goes.
    pub removal_gate: &'static str,
    pub target: &'static str,
}

pub const DEPRECATIONS: [Deprecation; 6] = [
    Deprecation {
        id: "string-skills",
        what: "`skills` as a list of plain words",
        place: "persona files",
        instead: "`expertise`; `skills` is a list of objects with a `source`",
        removal_gate: "no persona in the installed layers uses it",
        target: "2027-12",
    },
    Deprecation {
        id: "hermetic-harness",
        what: "`hermeticHarness`",
        place: "persona files",
        instead: "`hermetic`",
        removal_gate: "no persona in the installed layers uses it",
        target: "2027-12",
    },
    Deprecation {
        id: "max-budget-usd",
        what: "`maxBudgetUsd`",
        place: "persona files",
        instead: "`limits.usd`",
        removal_gate: "no persona in the installed layers uses it",
        target: "2027-12",
    },
    Deprecation {
        id: "role-label",
        what: "`role` as a label such as `Lead / Explorer`",
        place: "persona files",
        instead: "the role's key, such as `lead-explorer`",
        removal_gate: "no persona in the installed layers uses it",
        target: "2027-12",
    },
    Deprecation {
        id: "charter-directory",
        what: "`agents/<id>/charter.md`",
        place: "layer directories",
        instead: "a role with `charterFile`, and `role` in the persona",
        removal_gate: "no layer has an `agents` directory",
        target: "2027-12",
    },
    Deprecation {
        id: "config-dir-variable",
        what: "the variable `AGENT_WORKFORCE_CONFIG_DIR`",
        place: "the environment",
        instead: "`AGENT_WORKFORCE_HOME`, or `personaDirs` in the config",
        removal_gate: "the npm tool no longer reads it",
        target: "2027-12",
    },
];

pub fn deprecation(id: &str) -> &'static Deprecation {
    DEPRECATIONS.iter().find(|entry| entry.id == id).expect("every legacy spelling has its entry")
}
