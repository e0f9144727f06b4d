//! Work: a task with a contract, and an answer that is measured. Everything here but `cycle` is pure: contracts, evidence, checks,
//! the signal, what to do next, and what each role is told.

pub mod evidence;
pub mod history;
pub mod out_of_scope;
pub mod path_kind;
pub mod signal;
pub mod signature;
#[cfg(test)]
pub mod tests_support;
