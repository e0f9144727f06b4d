//! What an advisor answers. Advice changes no contract, files, commands or budgets: it is text in front of the next prompt, or a stop.

use super::last_object::last_object;
use super::signature::plain;
use crate::model::worker_report::{ADVISOR_RESPONSE, AdvisorDecision, AdvisorResponse};
use serde_json::{Value, json};

const MOST_INSTRUCTIONS: usize = 4;

/// Reads an answer: `advisor-response.v1`. One that says STOP needs no instructions.
pub fn parse(answer: &str) -> Result<AdvisorResponse, String> {
    let value = last_object(answer).ok_or("the answer has no JSON object")?;
    let response: AdvisorResponse =
        serde_json::from_value(value).map_err(|error| plain(&error.to_string()))?;
    if response.schema_version != ADVISOR_RESPONSE {
        return Err(format!("`schema_version` is not `{ADVISOR_RESPONSE}`"));
    }
    if !(0.0..=1.0).contains(&response.confidence) {
        return Err("`confidence` is not between 0 and 1".into());
    }
    let instructions = response.executor_instructions.len();
    let least = usize::from(response.decision != AdvisorDecision::Stop);
    if !(least..=MOST_INSTRUCTIONS).contains(&instructions) {
        return Err(format!(
            "`executor_instructions` has {instructions} entries instead of 1 to {MOST_INSTRUCTIONS}"
        ));
    }
    if response.executor_instructions.iter().any(|line| line.trim().is_empty()) {
        return Err("an entry of `executor_instructions` is empty".into());
    }
    Ok(response)
}

/// To hold a harness to.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["schema_version", "decision", "summary", "executor_instructions", "confidence", "stop_reason"],
        "properties": {
            "schema_version": {"type": "string", "enum": [ADVISOR_RESPONSE]},
            "decision": {"type": "string", "enum": ["PLAN", "CORRECTION", "STOP"]},
            "summary": {"type": "string"},
            "executor_instructions": {"type": "array", "items": {"type": "string"}, "description": "1 to 4"},
            "confidence": {"type": "number", "description": "0 to 1"},
            "stop_reason": {"type": ["string", "null"]},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(decision: &str, instructions: &str, confidence: &str) -> String {
        format!(
            r#"Here it is: {{"schema_version":"advisor-response.v1","decision":"{decision}","summary":"s",
            "executor_instructions":{instructions},"confidence":{confidence},"stop_reason":null}}"#
        )
    }

    #[test]
    fn valid_answers_are_read() {
        let plan = parse(&answer("PLAN", r#"["look at the clock"]"#, "0.7")).unwrap();
        assert_eq!(plan.decision, AdvisorDecision::Plan);
        assert_eq!(plan.executor_instructions, ["look at the clock"]);
        assert_eq!(
            parse(&answer("CORRECTION", r#"["a","b","c","d"]"#, "1")).unwrap().executor_instructions.len(),
            4
        );
        assert_eq!(parse(&answer("STOP", "[]", "0")).unwrap().decision, AdvisorDecision::Stop);
    }

    #[test]
    fn invalid_answers_are_refused() {
        let cases = [
            answer("PLAN", "[]", "0.5"),
            answer("PLAN", r#"["a","b","c","d","e"]"#, "0.5"),
            answer("PLAN", r#"[" "]"#, "0.5"),
            answer("PLAN", r#"["a"]"#, "1.5"),
            answer("PLAN", r#"["a"]"#, "-0.1"),
            answer("APPROVE", r#"["a"]"#, "0.5"),
            answer("PLAN", r#"["a"]"#, "0.5").replace("advisor-response.v1", "advisor-response.v2"),
            "no object here".into(),
            String::new(),
        ];
        for case in cases {
            assert!(parse(&case).is_err(), "{case}");
        }
    }
}
