//! What people, workers, judges and test runners hand in to a piece of work: contracts, reports, reviews, advice, plans, output.

use crate::model::contract::Contract;
use crate::model::settings::Settings;
use crate::model::verdict::CheckStatus;
use crate::model::worker_report::WorkerStatus;
use crate::work::contract::{ContractFile, Scope, ShortForm, contract_path, read, refusals, short};
use crate::work::evidence::{ReportSource, Testimony};
use crate::work::runners::SummaryReader;
use crate::work::{advice, review, task_plan, testimony};
use std::path::{Component, Path};

const NONCE: &str = "n";

/// The first line names the kind, the rest is what was handed in; without one, every reader gets it.
pub fn check(data: &[u8]) {
    let text = std::str::from_utf8(data).ok();
    let (kind, rest) = text.map_or(("", ""), super::headed);
    match kind {
        "contract" => contract(rest),
        "report" => report(rest.as_bytes()),
        "answer" => answer(rest),
        "output" => output(rest.as_bytes()),
        _ => {
            report(data);
            output(data);
            if let Some(text) = text {
                contract(text);
                answer(text);
            }
        }
    }
}

/// A valid contract stays in the project, is refused for reasons that can be read, and survives being written.
fn contract(text: &str) {
    let is_hidden = |path: &str| path.contains("secret");
    let _ = contract_path(text);
    let (first, second) = text.split_once("\n%%\n").unwrap_or((text, ""));
    let sprint = (!second.is_empty()).then_some((Path::new("sprint.json"), second));
    let source = ContractFile { file: Path::new("contract.json"), text: first, sprint };
    match read(&source, &Settings::default(), &is_hidden) {
        Ok(found) => {
            let contract = found.contract;
            for file in contract.files.iter().flatten() {
                let name = Path::new(file.trim_start_matches('!'));
                let leaves = |part| matches!(part, Component::ParentDir | Component::RootDir);
                assert!(!name.components().any(leaves), "{file:?}");
            }
            assert!(contract.files.as_ref().is_some_and(|files| !files.is_empty()));
            assert!(!contract.task_id.is_empty());
            let scope = Scope::of(&contract);
            assert!(!scope.allows("../outside") && !scope.allows(".git/config"), "{:?}", contract.files);
            assert!(refusals(&contract).iter().all(|refusal| !refusal.message.is_empty()));
            let written = serde_json::to_value(&contract).expect("a contract can be written");
            assert_eq!(serde_json::from_value::<Contract>(written).ok(), Some(contract));
        }
        Err(problems) => assert!(!problems.is_empty(), "a contract is refused for a reason"),
    }
}

/// The same report says the same; one that says nothing has a reason; another nonce is never ours.
fn report(data: &[u8]) {
    let said = testimony::collect(Some(data), None, Some(NONCE));
    assert_eq!(said, testimony::collect(Some(data), None, Some(NONCE)));
    assert_eq!(said.source, ReportSource::File);
    sensible(&said);
    if said.report.is_none() && said.request.is_none() {
        assert!(!said.problems.is_empty(), "an unusable report has a reason");
    }
    // A question and a word of giving up are small, and need no nonce.
    let is_completed = |said: &Testimony| {
        said.report.as_ref().is_some_and(|report| report.status == WorkerStatus::Completed)
    };
    let other = testimony::collect(Some(data), None, Some("another"));
    let passes = |said: &Testimony| is_completed(said) && said.problems.is_empty();
    assert!(!(passes(&said) && passes(&other)), "a report is bound to its run");
}

fn sensible(said: &Testimony) {
    for problem in &said.problems {
        assert!(problem.len() < 4000 && !problem.contains('\u{1b}'), "{problem:?}");
    }
}

/// What a judge says counts only by its form; an approval that cites nothing that is there is none.
fn answer(text: &str) {
    sensible(&testimony::collect(None, Some(text), Some(NONCE)));
    if let Ok(response) = advice::parse(text) {
        assert!((0.0..=1.0).contains(&response.confidence) && response.executor_instructions.len() <= 4);
    }
    if let Ok(plan) = task_plan::parse(text, &|file| file.starts_with("src/")) {
        assert!((1..=5).contains(&plan.subtasks.len()));
        let files = plan.subtasks.iter().flat_map(|part| &part.files);
        assert!(files.into_iter().all(|file| file.starts_with("src/") && !file.contains("..")), "{plan:?}");
    }
    let form = ShortForm {
        task: "do it".to_owned(),
        checks: vec!["sh check.sh".to_owned()],
        review: Some("judge".to_owned()),
        ..ShortForm::default()
    };
    let asked = short(&form, &|_| false).expect("valid").contract;
    let (judged, _) = review::review_check(&asked, Some(text), &|_, _| None);
    assert_ne!(judged.status, CheckStatus::Passed, "an approval cites what is there");
    let again = review::review_check(&asked, Some(text), &|_, _| None).0;
    assert_eq!(judged, again);
}

/// The output of a command may come in any pieces.
fn output(data: &[u8]) {
    let whole = summary(&[data]);
    for at in [1, data.len() / 3, data.len() / 2] {
        let (a, b) = data.split_at(at.min(data.len()));
        assert_eq!(summary(&[a, b]), whole, "a stream may be cut anywhere");
    }
}

fn summary(pieces: &[&[u8]]) -> Option<crate::work::evidence::TestSummary> {
    let mut reader = SummaryReader::new();
    for piece in pieces {
        reader.feed(piece);
    }
    reader.finish()
}
