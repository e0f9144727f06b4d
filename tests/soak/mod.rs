//! A soak: many headless runs at a time in a few shared projects, killed at random crash_points by every hand there is; then
//! everything is counted. `cargo bench --bench soak` is the long one, `tests/it/soak.rs` the short one.
//!
//! What a run is to do and what it dies of follow from the seed. When it dies is a part of the time that runs take on this
//! machine, and is printed.

mod accounts;
mod figures;
mod leftovers;
mod one_run;
mod upkeep;
mod wish;
mod world;

use accounts::Accounts;
pub use figures::Figures;
use one_run::{Did, Pace};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use upkeep::Upkeep;
use wish::Wish;
use world::World;

pub struct Settings {
    pub runs: usize,
    pub jobs: usize,
    pub seed: u64,
    /// Where the projects, the home and everything else are for that time.
    pub place: PathBuf,
    pub binary: PathBuf,
    /// Whether every run gets a line.
    pub verbose: bool,
}

/// What was measured, and everything that is not as it has to be.
pub struct Soaked {
    pub figures: Figures,
    pub findings: Vec<String>,
}

pub fn soak(settings: &Settings) -> Soaked {
    let began = Instant::now();
    let wishes = Wish::all(settings.runs, settings.seed);
    let world = World::new(settings, &wishes);
    let pace = world.warm_up();
    let at_start = world.store();
    let (dids, upkeep) = run_all(&world, &wishes, &pace, settings);
    let ran_for = began.elapsed();
    let mut accounts = Accounts::new(&world, &wishes, &dids);
    accounts.nothing_is_left_running();
    accounts.upkeep(&upkeep);
    let interrupted = accounts.recover();
    accounts.each_run();
    let listed = world.peak_of_list();
    let full = world.store().bytes;
    accounts.settle_what_is_held();
    accounts.prune(&at_start);
    let findings = accounts.findings();
    let figures = Figures::new(
        &wishes,
        &dids,
        figures::Measured {
            seed: settings.seed,
            jobs: settings.jobs,
            ran_for,
            took: began.elapsed(),
            interrupted,
            list_early: upkeep.first_list,
            list_late: listed,
            store_start: at_start.bytes,
            store_full: full,
            store_end: world.store().bytes,
        },
    );
    if findings.is_empty() {
        world.remove();
    } else {
        eprintln!("everything is kept in {}", world.dir().display());
    }
    Soaked { figures, findings }
}

fn run_all(world: &World, wishes: &[Wish], pace: &Pace, settings: &Settings) -> (Vec<Did>, Upkeep) {
    let waiting = Mutex::new(wishes.iter());
    let done = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let upkeep = std::thread::scope(|scope| {
        let upkeep = scope.spawn(|| Upkeep::keep_on(world, &over));
        std::thread::scope(|scope| {
            for _ in 0..settings.jobs {
                scope.spawn(|| {
                    loop {
                        // Not in the condition of a `while let`: the lock would be held while the run runs.
                        let next = waiting.lock().expect("nobody panics with it").next();
                        let Some(wish) = next else { break };
                        let did = one_run::carry_out(world, wish, pace);
                        if settings.verbose {
                            eprintln!("{}", did.line(wish));
                        }
                        done.lock().expect("nobody panics with it").push(did);
                    }
                });
            }
        });
        over.store(true, Ordering::Relaxed);
        upkeep.join().expect("it ends by itself")
    });
    let mut dids = done.into_inner().expect("nobody panicked with it");
    dids.sort_by_key(|did| did.number);
    (dids, upkeep)
}
