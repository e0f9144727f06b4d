//! The integration tests: the built binary, run in a world of its own.

mod architecture;
mod bad_input;
mod cli;
mod corpus;
mod create;
mod diagnostics;
mod doctor;
mod e2e_concurrent;
mod e2e_crash;
mod e2e_hidden;
mod e2e_incumbent;
mod e2e_kept;
mod e2e_property;
mod enforced_matrix;
mod engine;
mod exports;
mod exports_round;
mod harness_room;
mod imports;
mod imports_corpus;
mod imports_limits;
mod imports_property;
mod imports_wild;
mod launch_enforced;
mod launch_failures;
mod launch_runs;
mod launch_secrets;
mod launch_sidecars;
mod launch_skills;
mod layers;
mod mount_copy;
mod mount_git;
mod mount_overlay;
mod mount_processes;
mod mount_program;
mod mount_terminal;
mod mount_views;
mod mounted_root;
mod old_sessions;
mod package;
mod packs;
mod packs_crash;
mod packs_details;
mod packs_hostile;
mod packs_powers;
mod packs_settle;
mod packs_sources;
mod persona_ref;
mod pick;
mod picker;
mod plan_permissions;
mod plans;
mod readme;
mod recording;
mod refusals;
mod roles;
mod sidecars;
mod soak;
mod support;

// The names of the parts before they were in `support`, for tests that are being written just now.
#[allow(unused_imports, reason = "goes with the last test that uses them")]
use support::{
    harness as launch_support, mount as mount_support, packs as packs_support, sessions as e2e_support,
};
