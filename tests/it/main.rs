//! The integration tests: the built binary, run in a world of its own.

mod architecture;
mod bad_input;
mod cli;
mod corpus;
mod doctor;
mod e2e_concurrent;
mod e2e_crash;
mod e2e_hidden;
mod e2e_incumbent;
mod e2e_property;
mod e2e_support;
mod layers;
mod mount_copy;
mod mount_git;
mod mount_overlay;
mod mount_processes;
mod mount_support;
mod mount_terminal;
mod plans;
mod readme;
mod roles;
mod sidecars;
mod support;
