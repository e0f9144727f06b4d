//! Identity, roles and the prompt: every "must hold" point of the spec, the rules of resolution, and the commands.

mod clearing;
mod deleting;
mod features;
mod must_hold;
mod persona_commands;
mod resolution;
mod role_commands;

use crate::support::TestEnv;
use serde_json::{Value, json};

const NAMES: [&str; 5] = ["Ripley", "Dallas", "Lambert", "Rebecca", "Ralph"];
const USER_PERSONAS: &str = "home/.agentworkforce/workforce/personas";

/// Two personas of the role `crew`, and one of the role `other`.
fn crew() -> TestEnv {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"label": "Crew", "charter": "Keep the ship flying.\n"}));
    env.user_role("other", &json!({"label": "Other", "charter": "Do something else.\n"}));
    env.user_persona(&json!({"id": "kane", "name": "Kane", "role": "crew", "expertise": ["eggs", "maps"]}));
    env.user_persona(&json!({"id": "parker", "name": "Parker", "role": "crew", "expertise": ["engines"]}));
    env.user_persona(&json!({"id": "ash", "name": "Ash", "role": "other"}));
    env
}

fn json_of(env: &TestEnv, path: &str) -> Value {
    serde_json::from_str(&env.read(path)).expect("JSON")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}
