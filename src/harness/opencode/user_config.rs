//! Where opencode keeps the user's configuration and its state: lists of names, tried with opencode 1.18.33.

use crate::harness::job::{HarnessPlan, Job};
use crate::model::mount::HarnessConfig;
use std::path::PathBuf;

/// What it installs beside its configuration for plugins, in every run that finds it missing.
const SCRATCH: [&str; 5] = [".gitignore", "bun.lock", "node_modules", "package-lock.json", "package.json"];

/// Configuration and state are in directories of their own. Of its state, programs are configuration: it runs what is there.
pub fn protect(plan: &mut HarnessPlan, job: &Job) {
    let below = |variable: &str, usual: &str| {
        let said = job.env.get(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        said.or_else(|| job.home.map(|home| home.join(usual))).map(|dir| dir.join("opencode"))
    };
    let (data, state) = (below("XDG_DATA_HOME", ".local/share"), below("XDG_STATE_HOME", ".local/state"));
    let scratch: Vec<String> = SCRATCH.iter().map(|&name| name.to_owned()).collect();
    if let Some(dir) = below("XDG_CONFIG_HOME", ".config") {
        plan.config.push(HarnessConfig { dir, scratch, ..HarnessConfig::default() });
    }
    if let Some(data) = &data {
        plan.config.push(HarnessConfig { dir: data.join("bin"), ..HarnessConfig::default() });
    }
    plan.state.extend([data, state].into_iter().flatten());
}
