//! Refuses contracts that prove nothing, before anything is spent.

use super::problems::shown;
use super::weak_command::weak_command;
use crate::model::contract::{CommandOrigin, Contract};

/// Why a contract is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The key that it is about: `validation_commands[0]`, `definition_of_done[1]`.
    pub key: String,
    pub message: String,
    pub hint: String,
}

/// Everything for which a contract is refused (exit 2). Commands that were found in the project have to be in it already.
pub fn refusals(contract: &Contract) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if contract.validation_commands.is_empty() {
        refusals.push(Refusal {
            key: "validation_commands".into(),
            message: "missing-input: no command is named, and none was found in the project".into(),
            hint: "name one that fails when the work is not done: `--check \"npm test\"`, or `validation_commands`".into(),
        });
    }
    let mut own = 0_usize;
    for command in &contract.validation_commands {
        let key = match &command.from {
            CommandOrigin::Contract => {
                own += 1;
                format!("validation_commands[{}]", own - 1)
            }
            CommandOrigin::DefinitionOfDone(id) => {
                match contract.definition_of_done.iter().position(|item| item.id == *id) {
                    Some(index) => format!("definition_of_done[{index}].check"),
                    None => "definition_of_done".into(),
                }
            }
            CommandOrigin::Found(_) => "validation_commands".into(),
        };
        if let Some(reason) = weak_command(&command.command) {
            refusals.push(Refusal {
                key,
                message: format!("`{}` proves nothing: {reason}", shown(&command.command)),
                hint: "write a command that fails when the work is not done".into(),
            });
        }
    }
    if contract.review.is_none() {
        let judged_by_nobody =
            contract.definition_of_done.iter().enumerate().filter(|(_, item)| item.check.is_none());
        for (index, item) in judged_by_nobody {
            refusals.push(Refusal {
                key: format!("definition_of_done[{index}]"),
                message: format!("`{}` has neither a check nor a reviewer", shown(&item.id)),
                hint: "add a `check` to it, or `review` with a persona".into(),
            });
        }
    }
    refusals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::contract::{DoneItem, ReviewTerms};
    use crate::work::contract::{ShortForm, short};

    fn contract(checks: &[&str]) -> Contract {
        let checks = checks.iter().map(|check| (*check).to_owned()).collect();
        let form = ShortForm { task: "x".into(), checks, ..ShortForm::default() };
        short(&form, &|_| false).unwrap().contract
    }

    fn keys(contract: &Contract) -> Vec<String> {
        refusals(contract).into_iter().map(|refusal| refusal.key).collect()
    }

    #[test]
    fn a_contract_without_commands_is_refused() {
        assert_eq!(keys(&contract(&[])), ["validation_commands"]);
        assert_eq!(refusals(&contract(&["npm test"])), Vec::new());
    }

    #[test]
    fn every_weak_command_is_listed() {
        assert_eq!(
            keys(&contract(&["true", "npm test", "npm test || true", ""])),
            ["validation_commands[0]", "validation_commands[2]", "validation_commands[3]"]
        );
    }

    #[test]
    fn a_definition_of_done_needs_a_judge() {
        let item = |id: &str, check: Option<&str>| DoneItem {
            id: id.into(),
            text: "works".into(),
            check: check.map(str::to_owned),
        };
        let mut contract = contract(&["npm test"]);
        contract.definition_of_done = vec![item("a", None), item("b", Some("npm run b"))];
        assert_eq!(keys(&contract), ["definition_of_done[0]"]);
        contract.review =
            Some(ReviewTerms { persona: "code-reviewer".into(), required: true, max_iterations: 3 });
        assert_eq!(keys(&contract), Vec::<String>::new());
    }

    #[test]
    fn the_check_of_an_item_must_be_able_to_fail() {
        let mut contract = contract(&[]);
        contract.definition_of_done =
            vec![DoneItem { id: "a".into(), text: "works".into(), check: Some(":".into()) }];
        contract.validation_commands = vec![crate::model::contract::ValidationCommand::new(
            ":",
            CommandOrigin::DefinitionOfDone("a".into()),
        )];
        assert_eq!(keys(&contract), ["definition_of_done[0].check"]);
    }
}
