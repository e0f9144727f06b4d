//! Capabilities of the processes inside a mount: carried over an exec for our own steps, gone before the harness starts.
//! Which namespaces there are is decided elsewhere.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What root loses: each of these opens a way round the mount (umount, another process's root, kernel memory, a raw disk, a
/// file handle). Package managers and checkouts with foreign owners need the others.
const DROPPED_FROM_ROOT: [CapabilitySet; 6] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::MKNOD,
    CapabilitySet::DAC_READ_SEARCH,
];

/// Whether this process may mount without a user namespace.
pub fn can_mount() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Makes all capabilities of the new user namespace survive the next exec, which drops them for everyone but uid 0.
pub fn keep_over_exec() -> rustix::io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for capability in each(sets.permitted) {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Drops every capability from every set: nothing is left even for a program with file capabilities.
pub fn drop_all() -> rustix::io::Result<()> {
    drop_from_bounding(each(CapabilitySet::from_bits_retain(u64::MAX)))?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Drops what root must not have from every set.
pub fn drop_from_root() -> rustix::io::Result<()> {
    drop_from_bounding(DROPPED_FROM_ROOT.into_iter())?;
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    for capability in DROPPED_FROM_ROOT {
        sets.effective.remove(capability);
        sets.permitted.remove(capability);
        sets.inheritable.remove(capability);
    }
    set_capabilities(None, sets)
}

fn drop_from_bounding(wanted: impl Iterator<Item = CapabilitySet>) -> rustix::io::Result<()> {
    for capability in wanted {
        match remove_capability_from_bounding_set(capability) {
            // Numbers that this kernel does not know.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn each(set: CapabilitySet) -> impl Iterator<Item = CapabilitySet> {
    (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)).filter(move |one| set.contains(*one))
}
