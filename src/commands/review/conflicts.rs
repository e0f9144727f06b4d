//! Settles the conflicts of a review one by one: the user's version, the agent's, a text that was edited, or the merge tool.

use super::{Asking, editor, merge_tool};
use crate::commands::prompter::Answer;
use crate::mount::apply::decided::{Choice, Decided};
use crate::mount::changes::Change;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::diff::{diff, printable_name};
use crate::mount::changes::markers::Marked;
use crate::mount::changes::versions::{TextVersions, text_versions};
use crate::ui::{BOLD, patch, printable};
use anyhow::Result;

impl Asking<'_> {
    /// Asks about those of these changes that are in conflict. Gives whether all are settled.
    pub(super) fn settle_conflicts(&mut self, numbers: &[usize]) -> Result<bool> {
        let changes = &self.offer.review.changes;
        let conflicts: Vec<&Change> = numbers
            .iter()
            .map(|&number| &changes[number])
            .filter(|change| change.conflict.is_some() && !self.decided.contains_key(&change.path.0))
            .collect();
        let count = conflicts.len();
        for (number, change) in conflicts.into_iter().enumerate() {
            let name = printable_name(change.path.as_ref());
            let reason = change.conflict.map_or("", ConflictReason::text);
            self.ui.say(&format!("{BOLD}conflict {} of {count}: {name}{BOLD:#} ({reason})", number + 1));
            let Some(choice) = self.settle(change)? else { return Ok(false) };
            self.decided.insert(change.path.0.clone(), Decided { now: change.now, choice });
        }
        Ok(true)
    }

    /// `None` if the user wants to go back.
    fn settle(&mut self, change: &Change) -> Result<Option<Choice>> {
        let versions = text_versions(self.offer.sides, change)?;
        let can_take = change.conflict != Some(ConflictReason::NotEmpty);
        let editor = versions.as_ref().and_then(|_| editor::command(self.host));
        let tool = versions.as_ref().and_then(|_| merge_tool::configured(self.host, self.offer.scratch));
        let named =
            tool.as_ref().map(|tool| format!("; merge tool: {}", printable(tool))).unwrap_or_default();
        self.ui.say(&format!("  ours: what you have; theirs: the agent's{named}"));
        let mut choices = vec!["[o]urs"];
        choices.extend(can_take.then_some("[t]heirs"));
        choices.extend(editor.as_ref().map(|_| "[e]dit both"));
        choices.extend(tool.as_ref().map(|_| "[m]erge tool"));
        let question = format!("{}, [d]iff, Enter to decide later?", choices.join(", "));
        loop {
            let Answer::Line(answer) = self.prompter.ask(&question, &mut self.ui) else { return Ok(None) };
            let settled = match (answer.trim(), &versions) {
                ("o" | "ours", _) => return Ok(Some(Choice::Ours)),
                ("t" | "theirs", _) if can_take => return Ok(Some(Choice::Theirs)),
                ("e" | "edit", Some(versions)) if editor.is_some() => self.edit(change, versions),
                ("m" | "merge", Some(versions)) if tool.is_some() => {
                    let (terminal, scratch) = (self.terminal, self.offer.scratch);
                    merge_tool::merge(self.host, terminal, scratch, change.path.as_ref(), versions)
                }
                ("d" | "diff", _) => {
                    self.show_conflict(change)?;
                    continue;
                }
                ("", _) => return Ok(None),
                (other, _) => {
                    self.ui.say(&format!("`{}` is not one of the choices", printable(other)));
                    continue;
                }
            };
            self.prompter.forget();
            match (settled, &versions) {
                (Ok(text), Some(versions)) if self.is_accepted(versions, &text)? => {
                    return Ok(Some(Choice::settled(versions, text)));
                }
                (Err(error), _) => self.ui.warning(printable(&format!("{error:#}"))),
                _ => {}
            }
        }
    }

    fn edit(&self, change: &Change, versions: &TextVersions) -> Result<Vec<u8>> {
        let Some(command) = editor::command(self.host) else { anyhow::bail!("there is no editor") };
        let name = editor::name_for(change.path.as_ref());
        let marked = Marked::of(versions);
        editor::edit(command, self.terminal, self.offer.scratch, &name, &marked.text)
    }

    /// A text with markers left in it is most likely not finished.
    fn is_accepted(&mut self, versions: &TextVersions, text: &[u8]) -> Result<bool> {
        if !Marked::of(versions).is_left_in(text) {
            return Ok(true);
        }
        Ok(self.prompter.confirms("there are conflict markers left in it; take it as it is?", &mut self.ui))
    }

    fn show_conflict(&mut self, change: &Change) -> Result<()> {
        let path = Some(change.path.0.as_path());
        let diffs = diff(self.offer.sides, self.offer.review, path)?;
        let own = diffs.iter().filter(|file| file.path == change.path);
        let text: String = own.map(|file| patch::coloured(&file.text)).collect();
        self.show(&text)
    }
}
