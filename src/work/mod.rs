//! Work: a task with a contract, and an answer that is measured. Everything here but `cycle` is pure: contracts, evidence, checks,
//! the signal, what to do next, and what each role is told.

pub mod correction;
pub mod evidence;
pub mod history;
pub mod next;
pub mod out_of_scope;
pub mod path_kind;
pub mod signal;
pub mod signature;
pub mod tokens;
#[cfg(test)]
pub mod tests_support;
