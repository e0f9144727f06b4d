//! Sets up the diagnostics: what `-v` and `AGENTWORKFORCE_LOG` show on stderr, and the log that a run keeps.

use super::{ERASED_LINE, IS_LINE_DRAWN};
use crate::run::debug_log::DebugLog;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

/// What is wrong with the value of `AGENTWORKFORCE_LOG`.
pub type FilterProblem = String;

/// `verbosity` counts `-v`; `directives` are those of `AGENTWORKFORCE_LOG`; `log` is for commands that keep one.
pub fn install(verbosity: u8, directives: Option<&str>, log: Option<DebugLog>) -> Result<(), FilterProblem> {
    let level = match verbosity {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let filter = match directives {
        Some(directives) => EnvFilter::try_new(directives).map_err(|error| error.to_string())?,
        None => EnvFilter::default().add_directive(level.into()),
    };
    let shows = directives.is_some() || verbosity > 0;
    let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = Vec::new();
    if shows {
        layers.push(line_format().with_writer(|| Stderr).with_filter(filter).boxed());
    }
    if let Some(log) = log {
        let writer = move || log.clone();
        layers.push(line_format().with_writer(writer).with_filter(LevelFilter::DEBUG).boxed());
    }
    if !layers.is_empty() {
        // Only a test that runs the program twice in one process finds one already installed.
        let _ = tracing_subscriber::registry().with(layers).try_init();
    }
    Ok(())
}

fn line_format<S>() -> fmt::Layer<S> {
    fmt::layer().with_ansi(false).with_target(false)
}

/// Standard error, from which the line of a progress is taken away first.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if IS_LINE_DRAWN.swap(false, Ordering::Relaxed) {
            io::stderr().write_all(ERASED_LINE.as_bytes())?;
        }
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
