//! Work: a task with a contract, and an answer that is measured. Everything here but `cycle` is pure: contracts, evidence, checks,
//! the signal, what to do next, and what each role is told.

pub mod advice;
pub mod context;
pub mod contract;
pub mod correction;
pub mod cycle;
pub mod display;
pub mod evidence;
pub mod history;
pub mod last_object;
pub mod next;
pub mod out_of_scope;
pub mod path_kind;
pub mod race;
pub mod review;
pub mod role_prompts;
pub mod runners;
pub mod signal;
pub mod signature;
pub mod source;
pub mod task_plan;
pub mod testimony;
pub mod tokens;
pub mod verify;
pub mod verify_code;
pub mod worker_prompt;

#[cfg(test)]
mod liars;
#[cfg(test)]
pub mod tests_support;
