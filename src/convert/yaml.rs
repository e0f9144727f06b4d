//! YAML as a JSON value, with limits against documents that are made to cost.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Parses one document. The reason of a failure is one line.
pub fn parse(text: &str) -> Result<Value, String> {
    // The parser's own budget bounds depth, nodes and what aliases may grow to.
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::FirstWins };
    serde_saphyr::from_str_with_options::<Value>(text, options).map_err(|error| {
        let text = error.to_string();
        text.lines().next().unwrap_or("not valid YAML").trim_start_matches("error: ").to_owned()
    })
}
