//! Named moments at which a test may kill the process or play the user, to prove that none of them loses a byte.
//! Outside a test every moment is the addition of one.

use std::fmt::{Debug, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};

type AtEach = Box<dyn Fn(u64, &'static str) + Send + Sync>;

/// Counts the moments that are passed.
#[derive(Default)]
pub struct Instants {
    passed: AtomicU64,
    each: Option<AtEach>,
}

impl Instants {
    /// The moments of an ordinary run: nothing happens at them.
    pub const fn none() -> Instants {
        Instants { passed: AtomicU64::new(0), each: None }
    }

    /// Something happens at every moment; it is told the number, from 1, and the name.
    pub fn calling(each: impl Fn(u64, &'static str) + Send + Sync + 'static) -> Instants {
        Instants { passed: AtomicU64::new(0), each: Some(Box::new(each)) }
    }

    /// The process is killed with SIGKILL at the moment of this number.
    pub fn kill_at(number: u64) -> Instants {
        Instants::calling(move |now, _| {
            if now == number {
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            }
        })
    }

    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    pub fn at(&self, name: &'static str) {
        let number = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(each) = &self.each {
            each(number, name);
        }
    }
}

impl Debug for Instants {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Instants").field("passed", &self.passed).finish_non_exhaustive()
    }
}
