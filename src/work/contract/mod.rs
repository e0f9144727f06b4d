//! Contracts: read from a file or from flags, checked, and completed with the commands that a project has. Pure: texts in, values out.

mod ending;
mod found_commands;
mod glob;
mod marks;
mod parts;
mod plan_file;
mod problems;
mod programs;
mod project_files;
mod project_path;
mod read;
mod refusals;
mod schema;
mod scope;
mod setup;
mod shell;
mod short;
mod sprint;
mod weak_command;

pub use found_commands::{found_commands, with_found_commands};
pub use marks::{
    TddMark, has_advisor_mark, id_problem, needs_advice_first, task_id_of, tdd_counts, tdd_mark,
};
pub use plan_file::{PlanRow, find_row, mark_done};
pub use problems::MAX_BYTES;
pub use project_files::ProjectFiles;
pub use read::{ContractFile, ReadContract, Standing, contract_path, read, self_review_rules};
pub use refusals::{Refusal, refusals};
pub use schema::contract_schema;
pub use scope::Scope;
pub use setup::{Setup, changes_dependencies, setup_commands, setup_reason};
pub use short::{ShortContract, ShortForm, ShortProblem, short};
pub use sprint::{NewSprint, SPRINT_CONTRACT, Sprint, approve_sprint, lint_sprint, new_sprint, read_sprint};
pub use weak_command::weak_command;
