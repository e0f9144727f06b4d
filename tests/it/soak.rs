//! The short soak: some tens of runs, killed at random crash_points. `cargo bench --bench soak` is the long one.

#[path = "../soak/mod.rs"]
mod shared;

use crate::support::mount::BINARY;
use shared::{Settings, soak};
use std::path::Path;

#[test]
fn sixty_runs_killed_at_random_instants_leak_nothing_and_lose_nothing() {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    // Another one each time, so that the suite sees more than sixty crash_points in its life.
    let seed = u64::from(std::process::id());
    let soaked = soak(&Settings { runs: 60, jobs: 8, seed, place, binary: BINARY.into(), verbose: false });
    println!("{}", soaked.figures);
    assert!(soaked.figures.is_flat(), "{}", soaked.figures);
    assert!(soaked.findings.is_empty(), "seed {seed}: {:#?}", soaked.findings);
}
