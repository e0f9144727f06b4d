//! Our own processes inside a mount: this same binary, started again with a hidden subcommand. They carry out the runner's orders
//! and make no decisions.

mod above;
mod aliases;
mod binds;
pub mod caps;
mod devices;
mod helper;
mod init;
mod kernel_interfaces;
mod layers;
mod namespaces;
mod pins;
mod pipes;
mod probe;
pub mod protocol;
pub mod scope;
mod seal;
mod seccomp;
mod sockets;
mod temp;

pub use probe::ProbeAnswer;

use std::ffi::OsString;

/// Runs a hidden subcommand if the arguments (without the program's name) name one. `main` asks before anything else:
/// a user namespace can only be entered while there is one thread.
pub fn run_if_hidden(args: &[OsString]) -> Option<u8> {
    let (name, rest) = args.split_first()?;
    let order = || rest.first().and_then(|text| text.to_str()).unwrap_or_default();
    let command = || rest.get(1..).unwrap_or_default();
    match name.to_str()? {
        protocol::HELPER => {
            Some(serde_json::from_str(order()).map_or(125, |spec| helper::run(&spec, command())))
        }
        protocol::INIT => Some(serde_json::from_str(order()).map_or(125, |spec| init::run(spec, command()))),
        protocol::PROBE => Some(probe::run(rest.first()?)),
        protocol::PROBE_PROC => Some(u8::from(namespaces::mount_proc().is_err())),
        _ => None,
    }
}
