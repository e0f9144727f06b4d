//! What the benchmarks share: which program is measured, and the rows of the one table that `benches/run` puts together.

use std::fs::OpenOptions;
use std::io::Write;

/// The program as users install it, where `benches/run` has built it; else the one that cargo builds along.
pub const BINARY: &str = match option_env!("BENCH_BINARY") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_agentworkforce"),
};

/// What was measured, and what stood beside it in the same run.
pub struct Row<'a> {
    /// A name for other figures of the same thing; empty where there are none.
    pub key: &'a str,
    pub what: &'a str,
    pub millis: Option<f64>,
    pub megabytes: Option<f64>,
    pub floor: &'a str,
    pub floor_millis: Option<f64>,
    pub floor_megabytes: Option<f64>,
}

impl Row<'_> {
    /// Without `BENCH_ROWS` nothing is written.
    pub fn write(&self) {
        let Some(file) = std::env::var_os("BENCH_ROWS") else { return };
        let cell = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.2}"));
        let line = [
            self.key.to_owned(),
            self.what.to_owned(),
            cell(self.millis),
            cell(self.megabytes),
            self.floor.to_owned(),
            cell(self.floor_millis),
            cell(self.floor_megabytes),
        ]
        .join("\t");
        let mut file = OpenOptions::new().create(true).append(true).open(file).expect("writable");
        writeln!(file, "{line}").expect("there is space");
    }
}
