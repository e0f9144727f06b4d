//! The harness's version. It is asked for while the harness works, because some take long to answer.

use crate::tool;
use std::path::Path;

pub(super) struct VersionQuestion {
    asked: std::thread::JoinHandle<std::result::Result<String, String>>,
}

impl VersionQuestion {
    pub(super) fn ask(program: &Path, home: &Path) -> VersionQuestion {
        let (program, home) = (program.to_owned(), home.to_owned());
        VersionQuestion {
            asked: std::thread::spawn(move || {
                tool::version::remembered(&program, &home.join("cache/versions"))
            }),
        }
    }

    /// The version, or why it is unknown.
    pub(super) fn answer(self) -> std::result::Result<String, String> {
        self.asked.join().unwrap_or_else(|_| Err("the question failed".into()))
    }
}
