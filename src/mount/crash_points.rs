//! Named points of a run, for logs and tests: each is a tracing event, and a test may kill the process there or act as the user, to
//! prove that no byte is lost. A release build only has the events.

use crate::host::Host;
use std::fmt::{Debug, Formatter};
#[cfg(any(test, debug_assertions))]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(any(test, debug_assertions))]
type AtEach = Box<dyn Fn(u64, &'static str) + Send + Sync>;

/// The points that a run passes.
pub struct CrashPoints {
    #[cfg(any(test, debug_assertions))]
    passed: AtomicU64,
    #[cfg(any(test, debug_assertions))]
    each: Option<AtEach>,
}

impl CrashPoints {
    /// For an ordinary run: the points are only logged.
    pub const fn none() -> CrashPoints {
        CrashPoints {
            #[cfg(any(test, debug_assertions))]
            passed: AtomicU64::new(0),
            #[cfg(any(test, debug_assertions))]
            each: None,
        }
    }

    /// As the environment says: `AGENTWORKFORCE_TEST_KILL_AT` is the number of the point at which a crash test kills us, and
    /// `AGENTWORKFORCE_TEST_SLOW_STAGE` the milliseconds that each file takes to be staged.
    pub fn of(host: &Host) -> CrashPoints {
        #[cfg(debug_assertions)]
        if let Some(number) = host.var("AGENTWORKFORCE_TEST_KILL_AT") {
            return CrashPoints::kill_at(number.parse().expect("a crash test gives a number"));
        }
        #[cfg(debug_assertions)]
        if let Some(millis) = host.var("AGENTWORKFORCE_TEST_SLOW_STAGE") {
            let time = std::time::Duration::from_millis(millis.parse().expect("a test gives a number"));
            return CrashPoints::calling(move |_, name| {
                if name == "stage: before one" {
                    std::thread::sleep(time);
                }
            });
        }
        let _ = host;
        CrashPoints::none()
    }

    /// Calls a function at every point, with its number from 1 and its name.
    #[cfg(any(test, debug_assertions))]
    pub fn calling(each: impl Fn(u64, &'static str) + Send + Sync + 'static) -> CrashPoints {
        CrashPoints { passed: AtomicU64::new(0), each: Some(Box::new(each)) }
    }

    /// The process is killed with SIGKILL at the point of this number.
    #[cfg(any(test, debug_assertions))]
    pub fn kill_at(number: u64) -> CrashPoints {
        CrashPoints::calling(move |now, _| {
            if now == number {
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            }
        })
    }

    #[cfg(any(test, debug_assertions))]
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// A step is done.
    pub fn at(&self, name: &'static str) {
        tracing::debug!(target: "agentworkforce::point", "{name}");
        self.pass(name);
    }

    /// One of many equal steps is done, such as one file of a tree.
    pub fn at_each(&self, name: &'static str) {
        tracing::trace!(target: "agentworkforce::point", "{name}");
        self.pass(name);
    }

    #[cfg(any(test, debug_assertions))]
    fn pass(&self, name: &'static str) {
        let number = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(each) = &self.each {
            each(number, name);
        }
    }

    #[cfg(not(any(test, debug_assertions)))]
    fn pass(&self, _: &'static str) {}
}

impl Debug for CrashPoints {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CrashPoints").finish_non_exhaustive()
    }
}
