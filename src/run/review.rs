//! Looks at what a run changed, once for everyone who wants to show it. Apply compares again under its lock.

use super::open::OpenRun;
use super::reviewed::Reviewed;
use crate::host::interruption;
use crate::model::amounts::counted;
use crate::model::mount::{Backend, RuleSource};
use crate::model::warning::{Warning, WarningCode};
use crate::mount::changes::diff::{diff_with_renames, printable_name};
use crate::mount::changes::{Ignored, Merging, Review, review};
use crate::session::leaks::Leaks;
use anyhow::Result;

/// Above this many changes their lines are not counted: the report must not take longer than the work.
const MOST_COUNTED: usize = 500;

/// As the plan says it.
pub(super) fn merging(merge: bool) -> Merging {
    if merge { Merging::On } else { Merging::Off }
}

impl OpenRun<'_> {
    /// What the attempts so far have changed; `None` where there is no mount.
    pub fn review(&mut self) -> Result<Option<&Review>> {
        Ok(self.reviewed()?.map(|reviewed| &reviewed.review))
    }

    pub(super) fn reviewed(&mut self) -> Result<Option<&Reviewed>> {
        if self.reviewed.is_none() && self.mount.record.backend != Backend::None {
            self.reviewed = match self.session.work()? {
                Some(work) => {
                    let include = self.run.plan.changes.include_ignored;
                    let ignored = if include { Ignored::Include } else { Ignored::KeepOut };
                    let merging = merging(self.run.plan.changes.merge);
                    let review = review(&work.three_way(merging)?, ignored)?;
                    tracing::debug!(changes = review.changes.len(), "changes reviewed");
                    Some(Reviewed { work, review, merging })
                }
                None => None,
            };
        }
        Ok(self.reviewed.as_ref())
    }

    fn report_harness_config(&mut self) {
        const MOST_NAMED: usize = 20;
        let changed = self.mount.changed_harness_config();
        if changed.is_empty() {
            return;
        }
        let names: Vec<String> = changed.iter().take(MOST_NAMED).map(|path| printable_name(path)).collect();
        let more = changed.len().saturating_sub(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let text = format!(
            "the harness's configuration was changed inside and stays as it was outside: {}{more}",
            names.join(", ")
        );
        self.report.warnings.push(Warning::new(WarningCode::HarnessConfig, text));
    }

    /// Reviews the changes for the report, with what must not be in them.
    pub fn review_for_report(&mut self) -> Result<()> {
        let _step = tracing::info_span!("review").entered();
        self.report_harness_config();
        self.reviewed()?;
        let Some(Reviewed { work, review, merging }) = &self.reviewed else {
            self.report.leaked(&Leaks::default());
            return Ok(());
        };
        let late = crate::mount::newly_hidden(&self.run.plan.mount, &work.record)?;
        for late in late.iter().filter(|late| late.rule.source != RuleSource::Unreadable) {
            let name = printable_name(late.path.as_ref());
            let text = format!(
                "{name} appeared during the run and could be read: what is hidden is decided at the start"
            );
            self.report.warnings.push(Warning::new(WarningCode::Exposed, text));
        }
        if work.contents.left_out() > 0 {
            let text = format!(
                "too many to keep: {}; your own edits to them are not merged with the agent's",
                counted(work.contents.left_out(), "changed or untracked file")
            );
            self.report.warnings.push(Warning::new(WarningCode::Mount, text));
        }
        let sides = work.three_way(*merging)?;
        let mut leaks = Leaks::default();
        let paths = review.changes.iter().map(|change| change.path.0.as_path());
        leaks.look_into_changes(&self.secrets, sides.mount, paths);
        leaks.look_into_commits(&self.secrets, &self.session.dir, &work.record);
        // What a signal kept from being looked at is not known to be clean.
        interruption::check()?;
        self.report.leaked(&leaks);
        let diffs = if review.changes.len() <= MOST_COUNTED {
            diff_with_renames(&sides, review)?
        } else {
            Vec::new()
        };
        self.report.changed(review, &diffs);
        Ok(())
    }
}
