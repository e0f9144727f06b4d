//! Plain data: what a persona, a role, a plan and a report are. No I/O, no clock, no process.

pub mod deprecations;
pub mod event;
pub mod features;
pub mod formats;
pub mod json_schema;
pub mod mount;
pub mod mount_facts;
pub mod mount_record;
pub mod path_text;
pub mod persona;
pub mod plan;
pub mod printable;
pub mod raw_path;
pub mod reference;
pub mod report;
pub mod role;
pub mod secrets;
pub mod selector;
pub mod settings;
pub mod shape;
pub mod source;
pub mod template;
pub mod text_rules;
pub mod tier;
pub mod words;
