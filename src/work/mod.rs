//! Work: a task with a contract, and an answer that is measured. Everything here but `cycle` is pure: contracts, evidence, checks,
//! the signal, what to do next, and what each role is told.

pub mod cycle;
pub mod evidence;
pub mod history;
pub mod out_of_scope;
pub mod path_kind;
pub mod runners;
pub mod signal;
pub mod signature;
pub mod source;
pub mod testimony;
#[cfg(test)]
pub mod tests_support;
pub mod verify;
pub mod verify_code;
