//! Work: a task with a contract, and an answer that is measured. Everything here but `cycle` is pure: contracts, evidence, checks,
//! the signal, what to do next, and what each role is told.

pub mod contract;
pub mod evidence;
pub mod path_kind;
pub mod testimony;
pub mod verify;
