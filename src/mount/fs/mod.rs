//! Files and directories below one root, never following a link out of it. Knows nothing about mounts or rules.

pub mod cleanup;
pub(crate) mod copy_entry;
pub mod copy_file;
pub mod data;
pub mod duplicate;
pub(crate) mod heavy;
pub mod held_dir;
pub mod near;
pub mod plain_copy;
pub mod stat;
pub mod tree;
pub mod walk;
pub mod whiteout;
