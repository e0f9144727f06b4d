//! The JSON schema of a contract file, as people write it: commands are texts or objects, and defaults are left out.

use super::parts::{MAX_ATTEMPTS, MAX_SECONDS};
use serde_json::{Value, json};

/// Contracts, for editors and other programs. Unknown keys pass: they are kept and reported.
pub fn contract_schema() -> Value {
    let text = || json!({"type": "string", "pattern": "\\S"});
    let texts = |doc: &str| json!({"type": "array", "items": text(), "description": doc});
    let described = |mut schema: Value, doc: &str| {
        schema["description"] = doc.into();
        schema
    };
    let id = || json!({"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]*$", "maxLength": 128});
    let guard =
        |doc: &str| json!({"enum": ["frozen", "may-change"], "default": "frozen", "description": doc});
    let seconds = |most: f64| json!({"type": "number", "exclusiveMinimum": 0, "maximum": most});
    let whole = |least: u32, most: u32, default: u32| json!({"type": "integer", "minimum": least, "maximum": most, "default": default});
    let command = json!({"anyOf": [text(), {
        "type": "object",
        "required": ["command"],
        "properties": {
            "command": text(),
            "label": described(text(), "How it is called."),
            "timeout_seconds": seconds(MAX_SECONDS),
            "baseline": {
                "enum": ["must-pass", "may-fail"],
                "default": "must-pass",
                "description": "`may-fail`: a failure that is on the base too, with the same failing tests, is tolerated.",
            },
        },
    }]});
    let done = json!({"anyOf": [text(), {
        "type": "object",
        "required": ["id", "text"],
        "properties": {"id": id(), "text": text(), "check": described(text(), "A command that shows it.")},
    }]});
    let terms = |properties: Value, doc: &str| json!({"anyOf": [text(), {"type": "object", "properties": properties}], "description": doc});
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "agentworkforce contract",
        "description": "What a piece of work must satisfy.",
        "type": "object",
        "properties": {
            "task": described(text(), "What to do."),
            "task_id": described(id(), "Its id; becomes a file and a branch name."),
            "context": described(text(), "Free text for the worker."),
            "files": {
                "type": "array",
                "items": text(),
                "minItems": 1,
                "description": "What may change: paths, `dir/`, patterns with `*`, `**`, `?`, `[a-z]`.",
            },
            "mode": {
                "enum": ["solo", "codex", "breezing"],
                "default": "solo",
                "description": "`breezing`: a lead owns the plan file, and commits go to a branch.",
            },
            "contract_path": described(text(), "A sprint-contract.v1 whose fields are merged under these."),
            "spec_path": described(text(), "The source of truth."),
            "spec_skip_reason": {
                "enum": ["docs-only", "mechanical-change", "existing-spec-sufficient"],
                "description": "Why there is no spec. A contract with neither ends as an advisor request.",
            },
            "validation_commands": {
                "type": "array",
                "items": command,
                "description": "Run by the runner on the result, in this order. Without any, it picks from what the project has.",
            },
            "setup": texts("Run before the commands when dependencies changed or are missing; default: from the lock file."),
            "definition_of_done": {"type": "array", "items": done, "description": "What has to be true; a `check` is a command too."},
            "tests": guard("Whether existing tests may change."),
            "validators": guard("Whether what runs the tests may change."),
            "holdout_path": described(text(), "A directory outside the project with hidden tests, laid over the result when commands run. It is read before the worker starts, and is empty in its mount (not with a copy)."),
            "tdd_required": {"type": "boolean", "default": false, "description": "The changed tests must fail on the base."},
            "skip_tdd_reason": described(text(), "Why TDD does not count."),
            "prove": {"type": "boolean", "default": false, "description": "A command must fail on the base and pass on the result."},
            "risk_flags": texts("What makes it risky: an advisor is asked before launch."),
            "non_goals": texts("What is not to be done."),
            "effort": described(text(), "Effort for the worker; never inferred from the text."),
            "commit_target": {
                "type": "object",
                "required": ["repo_root", "branch"],
                "properties": {"repo_root": text(), "branch": text()},
                "description": "Where a commit may go when a file belongs to a nested repository.",
            },
            "review": terms(json!({
                "persona": text(),
                "required": {"type": "boolean", "default": true},
                "max_iterations": whole(1, 50, 3),
            }), "Who reviews; a text is the persona."),
            "advisor": terms(json!({
                "persona": text(),
                "enabled": {"type": "boolean", "default": true},
                "max_consults": whole(0, 50, 3),
            }), "Who advises; a text is the persona."),
            "planner": described(text(), "The persona that splits the task."),
            "budgets": {
                "type": "object",
                "properties": {
                    "attempts": whole(1, MAX_ATTEMPTS, 3),
                    "report_returns": whole(0, 50, 2),
                    "stall_seconds": seconds(MAX_SECONDS),
                    "wall_seconds": seconds(30.0 * MAX_SECONDS),
                    "usd": {"type": "number", "exclusiveMinimum": 0},
                },
                "description": "Every limit in one place.",
            },
        },
    });
    // The sprint contract supplies the task; `files` never comes from anywhere else.
    schema["required"] = json!(["files"]);
    schema["anyOf"] = json!([{"required": ["task", "task_id"]}, {"required": ["contract_path"]}]);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::contract::{ContractFile, read};
    use std::path::Path;

    /// Whether the schema and `read` agree.
    fn is_valid(contract: &Value) -> bool {
        let validator = jsonschema::validator_for(&contract_schema()).unwrap();
        let text = contract.to_string();
        let source = ContractFile { file: Path::new("c.json"), text: &text, sprint: None };
        let is_read = read(&source, &crate::model::settings::Settings::default(), &|_| false).is_ok();
        assert_eq!(validator.is_valid(contract), is_read, "{contract}");
        is_read
    }

    #[test]
    fn examples_validate() {
        let small = json!({"task": "x", "task_id": "x", "files": ["src/"], "spec_skip_reason": "docs-only"});
        assert!(is_valid(&small));
        let large = json!({
            "task": "fix the login", "task_id": "fix-login", "context": "see #3", "files": ["src/login.js", "tests/**"], "mode": "breezing",
            "spec_path": "docs/spec.md", "setup": ["npm ci"],
            "validation_commands": ["npm test", {"command": "npm run lint", "label": "lint", "timeout_seconds": 60, "baseline": "may-fail"}],
            "definition_of_done": [{"id": "d1", "text": "locks", "check": "npm run lock"}, "documented"],
            "tests": "may-change", "validators": "frozen", "holdout_path": "/home/me/hidden", "tdd_required": true,
            "skip_tdd_reason": "none", "prove": true, "risk_flags": ["auth"], "non_goals": ["api"], "effort": "high",
            "commit_target": {"repo_root": "vendor/x", "branch": "fix/login"},
            "review": {"persona": "code-reviewer", "required": true, "max_iterations": 2},
            "advisor": "architect", "planner": "lead",
            "budgets": {"attempts": 5, "report_returns": 0, "stall_seconds": 60, "wall_seconds": 3600, "usd": 2.5},
            "x-team": 1, "unknown": {"kept": true}
        });
        assert!(is_valid(&large));
    }

    #[test]
    fn mistakes_do_not() {
        let good =
            json!({"task": "x", "task_id": "x", "files": ["src/"], "validation_commands": ["npm test"]});
        let mistakes = [
            ("task", json!(" ")),
            ("task_id", json!("a b")),
            ("files", json!([])),
            ("files", json!("src")),
            ("mode", json!("fast")),
            ("validation_commands", json!([3])),
            ("validation_commands", json!([{"label": "x"}])),
            ("validation_commands", json!([{"command": "x", "timeout_seconds": 0}])),
            ("definition_of_done", json!([{"id": "x"}])),
            ("budgets", json!({"attempts": 0})),
            ("budgets", json!({"usd": -1})),
            ("tdd_required", json!("yes")),
            ("spec_skip_reason", json!("lazy")),
            ("commit_target", json!({"branch": "x"})),
        ];
        assert!(is_valid(&good));
        for (key, value) in mistakes {
            let mut bad = good.clone();
            bad[key] = value;
            assert!(!is_valid(&bad), "{bad}");
        }
        let mut absent = good.clone();
        absent.as_object_mut().unwrap().remove("task_id");
        assert!(!is_valid(&absent));
    }
}
