//! Writes the report that a worker of the short form may leave out, from what was measured. Claims nothing about commands.

use crate::model::worker_report::{WORKER_REPORT, WorkerReport, WorkerStatus};
use crate::work::evidence::{ChangeSet, Node, ReportSource, Testimony};

/// As testimony, so that the checks see who wrote it. The summary is the first line of the task.
pub fn runner_report(task: &str, nonce: &str, changes: &ChangeSet) -> Testimony {
    let is_directory = |state: &crate::work::evidence::FileState| state.node == Node::Directory;
    let files_changed: Vec<String> = changes
        .files
        .iter()
        .filter(|file| !file.after.as_ref().or(file.before.as_ref()).is_some_and(is_directory))
        .map(|file| file.name().into_owned())
        .collect();
    let first_line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let report = WorkerReport {
        schema_version: WORKER_REPORT.to_owned(),
        status: WorkerStatus::Completed,
        task: task.to_owned(),
        files_changed,
        summary: first_line.chars().take(200).collect(),
        nonce: nonce.to_owned(),
        ..WorkerReport::default()
    };
    let raw = serde_json::to_value(&report).ok();
    Testimony { source: ReportSource::Runner, report: Some(report), raw, ..Testimony::default() }
}
