//! Capabilities of the processes inside a mount: kept across an exec for our own steps, dropped before the harness starts.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What root loses in every overlay. The first six could bypass the mount (umount, another process's root, kernel memory, a
/// raw disk, a file handle); the others change or watch the machine, not the project. Package managers and checkouts with
/// foreign owners need the rest.
const DROPPED_FROM_ROOT: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::SYS_TIME)
    .union(CapabilitySet::SYS_PACCT)
    .union(CapabilitySet::SYS_TTY_CONFIG)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::WAKE_ALARM)
    .union(CapabilitySet::BLOCK_SUSPEND)
    .union(CapabilitySet::MAC_ADMIN)
    .union(CapabilitySet::MAC_OVERRIDE)
    .union(CapabilitySet::AUDIT_CONTROL)
    .union(CapabilitySet::AUDIT_READ);

/// All that root keeps at the sandbox level `strict`: what package managers, `chown` and dropping privileges with `su` need.
const KEPT_AT_STRICT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Whether this process may mount without a user namespace.
pub fn can_mount() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Makes all capabilities of the new user namespace survive the next exec, which would drop them for everyone but uid 0.
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
    drop_set(CapabilitySet::from_bits_retain(u64::MAX))
}

/// Drops from every set what root must not have.
pub fn drop_from_root() -> rustix::io::Result<()> {
    drop_set(DROPPED_FROM_ROOT)
}

/// Drops all but the few that root needs at the sandbox level `strict`.
pub fn drop_at_strict() -> rustix::io::Result<()> {
    // Including those that have no name yet.
    drop_set(CapabilitySet::from_bits_retain(!KEPT_AT_STRICT.bits()))
}

fn drop_set(dropped: CapabilitySet) -> rustix::io::Result<()> {
    drop_from_bounding(each(dropped))?;
    clear_ambient_capability_set()?;
    let sets = capabilities(None)?;
    let kept = |set: CapabilitySet| CapabilitySet::from_bits_retain(set.bits() & !dropped.bits());
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept(sets.effective),
            permitted: kept(sets.permitted),
            inheritable: kept(sets.inheritable),
        },
    )
}

fn drop_from_bounding(wanted: impl Iterator<Item = CapabilitySet>) -> rustix::io::Result<()> {
    for capability in wanted {
        match remove_capability_from_bounding_set(capability) {
            // This kernel does not know the number.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn each(set: CapabilitySet) -> impl Iterator<Item = CapabilitySet> {
    (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)).filter(move |one| set.contains(*one))
}
