//! Turns the skill sources of a plan into directories for a harness, through a cache. A skill that is not available is a
//! warning and never stops the others; nothing in a skill is executed here.

mod bundle;
mod cache;
mod choose;
pub mod error;
pub(crate) mod frontmatter;
mod git;
mod git_tree;
mod local;
mod npx;
mod obtain;
#[cfg(test)]
mod obtain_tests;
pub(crate) mod powers;
mod proof;
mod stage;

pub use obtain::{ObtainedSkill, SkillRequest, Skills, obtain};
pub use stage::{SkillFile, files_for_mount, stage};
