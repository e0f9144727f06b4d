//! Denies access to the abstract sockets (a name but no path) of services outside, with Landlock (from Linux 6.12 on). It restricts no
//! paths: the mounts do that.

use landlock::{
    CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated, RulesetError, RulesetStatus, Scope,
};
use std::io;

/// Whether this kernel supports it.
pub fn is_available() -> bool {
    ruleset().is_ok()
}

/// From now on, this process and everything that it starts can only reach abstract sockets that they have created themselves.
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
