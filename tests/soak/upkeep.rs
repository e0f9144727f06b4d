//! Somebody who looks after the sessions while all the others run: nothing of it may fail, and nobody be disturbed by it.

use super::world::World;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Default)]
pub struct Upkeep {
    pub commands: usize,
    pub problems: Vec<String>,
    /// Memory of `sessions list` when there were few sessions, and how many there were.
    pub first_list: (u64, usize),
}

impl Upkeep {
    pub fn keep_on(world: &World, over: &AtomicBool) -> Upkeep {
        let mut upkeep = Upkeep::default();
        let commands: [&[&str]; 3] = [
            &["sessions", "list", "--json"],
            &["sessions", "recover", "--json"],
            &["sessions", "prune", "--older-than", "1h", "--json"],
        ];
        for args in commands.iter().cycle() {
            if over.load(Ordering::Relaxed) {
                break;
            }
            if let Err(problem) = world.ask(args) {
                upkeep.problems.push(problem);
            }
            upkeep.commands += 1;
            if upkeep.commands == 3 {
                upkeep.first_list = world.peak_of_list();
            }
            std::thread::sleep(Duration::from_millis(150));
        }
        upkeep
    }
}
