//! Our own binary at work in the world of a real harness, headless.

use super::running::Ran;
use super::scratch::Scratch;
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

impl Scratch {
    /// The persona `tester` with a prompt and nothing else but what is said here.
    pub fn plain(&self, harness: Harness, more: &Value) {
        let mut persona = json!({
            "id": "tester", "intent": "testing", "description": "Tests", "harness": harness.name(),
            "systemPrompt": "You test.",
        });
        for (key, value) in more.as_object().expect("an object") {
            persona[key] = value.clone();
        }
        self.persona(&persona);
    }

    /// `agent tester -p TASK --json` with more flags, to its end.
    #[track_caller]
    pub fn report(&self, more: &[&str]) -> (Value, Ran) {
        let args = ["agent", "tester", "-p", "TASK-MARKER do it", "--json"];
        let ran = self.run(&mut self.agentworkforce(args.iter().chain(more)), "");
        let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
        assert_eq!(self.leftovers(), [], "{report:#}");
        (report, ran)
    }

    #[track_caller]
    pub fn succeeds(&self, more: &[&str]) -> Value {
        let (report, ran) = self.report(more);
        assert_eq!(ran.code, Some(0), "{report:#}\n{}", self.model.requests_text());
        assert_eq!(report["outcome"]["status"], "completed", "{report:#}");
        report
    }

    /// What the plan says becomes of a demand: `(level, how)`.
    #[track_caller]
    pub fn row(&self, field: &str) -> (String, String) {
        let args = ["agent", "tester", "-p", "x", "--dry-run", "--json"];
        let ran = self.run(&mut self.agentworkforce(args), "");
        let plan: Value = serde_json::from_str(&ran.succeeds().stdout).expect("a plan");
        let rows = plan["enforcement"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["field"] == field);
        let row = row.unwrap_or_else(|| panic!("no row for {field}: {rows:#?}"));
        let text = |key: &str| row[key].as_str().expect("a text").to_owned();
        (text("level"), text("how"))
    }

    /// Asserts that the plan calls this enforced: a test of what is not promised would prove nothing.
    #[track_caller]
    pub fn promises(&self, field: &str) {
        let (level, how) = self.row(field);
        assert_eq!(level, "enforced", "{field}: {how}");
    }
}

/// The paths that a report says were changed.
pub fn changed(report: &Value) -> Vec<&str> {
    let changes = report["changes"].as_array().expect("changes");
    changes.iter().map(|change| change["path"].as_str().expect("a path")).collect()
}
