//! The command line itself: help, exit codes, JSON, settings, sources, schemas, inputs and references, and a dry run.

mod answers;
mod incumbent_json;
mod inputs;
mod persona_names;
mod references;
mod schemas;
mod settings;
mod stdin;
mod usage;

use crate::support::TestEnv;
use serde_json::Value;

const CONFIG: &str = "home/.agentworkforce/workforce/config.json";

fn config(env: &TestEnv) -> Value {
    serde_json::from_str(&env.read(CONFIG)).expect("JSON")
}

fn validator(env: &TestEnv, format: &str) -> jsonschema::Validator {
    let schema = env.run(["schema", format]).json();
    assert!(jsonschema::meta::is_valid(&schema), "{format}");
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn is_valid(validator: &jsonschema::Validator, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?} in {value:#}");
}
