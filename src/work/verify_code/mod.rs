//! Checks about tests and code. Pure: they look at evidence alone.

use super::evidence::{ChangeSet, Evidence, View};
use crate::model::contract::Contract;
use crate::model::raw_path::RawPath;
use crate::model::verdict::Check;
use crate::model::worker_report::WorkerReport;

pub fn checks(_evidence: &Evidence) -> Vec<Check> {
    Vec::new()
}

pub fn ran_no_tests(_evidence: &Evidence) -> bool {
    false
}

pub fn discriminates(_evidence: &Evidence) -> bool {
    false
}

pub fn claims_success(_report: &WorkerReport) -> bool {
    false
}

pub fn existing_tests_changed(_changes: &ChangeSet) -> Vec<RawPath> {
    Vec::new()
}

pub fn changed_tests(_changes: &ChangeSet) -> Vec<RawPath> {
    Vec::new()
}

pub fn has_inline_tests(_changes: &ChangeSet) -> bool {
    false
}

pub fn wanted_views(_contract: &Contract, _changes: &ChangeSet) -> Vec<View> {
    Vec::new()
}
