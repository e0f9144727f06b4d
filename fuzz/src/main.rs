//! libFuzzer on one of the laws in `src/fuzz`, which the variable `FUZZ_TARGET` names; without one it prints the names
//! that there are. The product's modules are compiled right into this one program, as far as it reaches them: building
//! is what costs most, and nothing has to be public for it.

#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../src/convert/mod.rs"]
mod convert;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/exit.rs"]
mod exit;
#[path = "../../src/files/mod.rs"]
mod files;
#[path = "../../src/fuzz/mod.rs"]
mod fuzz;
#[path = "../../src/git.rs"]
mod git;
#[path = "../../src/harness/mod.rs"]
mod harness;
#[path = "../../src/host/mod.rs"]
mod host;
#[path = "../../src/launch/mod.rs"]
mod launch;
#[path = "../../src/load/mod.rs"]
mod load;
#[path = "../../src/model/mod.rs"]
mod model;
#[path = "../../src/mount/mod.rs"]
mod mount;
#[path = "../../src/pack/mod.rs"]
mod pack;
#[path = "../../src/plan/mod.rs"]
mod plan;
#[path = "../../src/remote/mod.rs"]
mod remote;
#[path = "../../src/resolve/mod.rs"]
mod resolve;
#[path = "../../src/rules/mod.rs"]
mod rules;
#[path = "../../src/session/mod.rs"]
mod session;
#[path = "../../src/skills/mod.rs"]
mod skills;
#[path = "../../src/tool/mod.rs"]
mod tool;
mod work;

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fuzz_target!(|data: &[u8]| law()(data));

fn law() -> fn(&[u8]) {
    static LAW: OnceLock<fn(&[u8])> = OnceLock::new();
    *LAW.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        fuzz::target(&name).unwrap_or_else(|| {
            for (name, _) in fuzz::TARGETS {
                println!("{name}");
            }
            std::process::exit(if name.is_empty() { 0 } else { 2 });
        })
    })
}
