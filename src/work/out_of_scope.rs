//! Which changed paths the check `scope` refused: they are put back before the worker goes on. It does not judge them itself.

use super::evidence::Evidence;
use crate::model::raw_path::RawPath;
use crate::model::verdict::{Check, CheckName, CheckStatus};
use std::collections::BTreeSet;

/// In the order of the change set.
pub fn paths(evidence: &Evidence, checks: &[Check]) -> Vec<RawPath> {
    let refused = checks
        .iter()
        .filter(|check| check.id.name == CheckName::Scope && check.status == CheckStatus::Failed);
    let named: BTreeSet<&str> =
        refused.flat_map(|check| &check.evidence).flat_map(|line| names(line)).collect();
    let is_refused = |name: &str| named.contains(name);
    evidence
        .changes
        .files
        .iter()
        .filter(|file| is_refused(&file.name()))
        .map(|file| file.path.clone())
        .collect()
}

/// What a line may name: all of it, its beginning before a remark, and what stands between backticks.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let beginnings =
        [" (", ": ", " is ", " +", " -"].into_iter().filter_map(move |mark| line.split(mark).next());
    let quoted = line.split('`').skip(1).step_by(2);
    std::iter::once(line).chain(beginnings).chain(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::{Blocker, CheckSeverity};
    use crate::work::tests_support::{changed, evidence};

    #[test]
    fn refused_paths_are_found_in_the_evidence_whatever_stands_beside_them() {
        let mut evidence = evidence();
        evidence.changes.files = ["a.rs", "b c.rs", "docs/d.md", "ok.rs"].map(changed).to_vec();
        let scope = |lines: &[&str]| {
            Check::failed(CheckName::Scope, CheckSeverity::Critical, Some(Blocker::ScopeDrift), "", "")
                .with_evidence(lines.iter().copied())
        };
        let found = |lines: &[&str]| -> Vec<String> {
            paths(&evidence, &[scope(lines)]).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            found(&["a.rs", "b c.rs (added)", "docs/d.md: not in `files`"]),
            ["a.rs", "b c.rs", "docs/d.md"]
        );
        assert_eq!(found(&["modified `a.rs`"]), ["a.rs"]);
        assert_eq!(found(&["x/a.rs", ""]), Vec::<String>::new());
        let passed = Check::passed(CheckName::Scope, "", "").with_evidence(["a.rs"]);
        assert!(paths(&evidence, &[passed]).is_empty());
    }
}
