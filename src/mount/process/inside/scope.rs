//! Keeps the inside from sockets that have a name and no path (abstract ones) of services outside, by Landlock, which newer
//! kernels have (Linux 6.12). It restricts no paths: the mounts do that.

use landlock::{
    CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetError, RulesetStatus, Scope,
};
use std::io;

/// Whether this kernel can do it.
pub fn is_available() -> bool {
    ruleset().is_ok()
}

/// Holds from now on for this process and all that it starts: only sockets that they have made themselves can be reached.
pub(super) fn restrict() -> io::Result<()> {
    let status = ruleset().and_then(RulesetCreated::restrict_self).map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::FullyEnforced {
        Ok(())
    } else {
        Err(io::Error::other("the kernel has not done it"))
    }
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::AbstractUnixSocket)?
        .create()
}
