//! What a plan has to have for work: a mount whose result can be measured.

use crate::model::mount::Backend;
use crate::model::plan::RunPlan;
use anyhow::Result;

/// A run in the real directory has no result that could be held back.
#[derive(Debug, thiserror::Error)]
#[error("work needs a mount: in the real directory nothing can be measured or held back")]
pub struct NeedsMount;

pub fn expect_mount(plan: &RunPlan) -> Result<()> {
    if plan.mount.backend == Backend::None {
        return Err(NeedsMount.into());
    }
    Ok(())
}
