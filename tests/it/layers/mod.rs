//! Layers, what a persona builds on, the accepted shapes, tiers, and what is said about keys nobody knows.

mod bases;
mod merging;
mod shapes;
mod unknown_keys;
mod which;

use crate::support::{TestEnv, warnings};
use serde_json::Value;

const USER: &str = "home/.agentworkforce/workforce/personas";

fn description(env: &TestEnv, id: &str) -> String {
    env.row(id)["description"].as_str().unwrap_or("-").to_owned()
}

fn sources(env: &TestEnv) -> Vec<String> {
    let list = env.run(["sources", "list", "--json"]).json();
    list["sources"].as_array().unwrap().iter().map(|row| row["source"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn has_warning(plan: &Value, words: &[&str]) {
    let all = warnings(plan);
    assert!(all.iter().any(|text| words.iter().all(|word| text.contains(word))), "{words:?} not in {all:#?}");
}
