//! Many headless runs at a time, killed at random crash_points by every hand there is; then everything is counted.
//!
//! `cargo bench --bench soak` runs 500, 8 at a time. `-- --runs N --jobs N --seed N` says otherwise, `--verbose` prints a line
//! for every run, with what it was to die of and when. It fails where a process, mount, lock, file or session is left, where
//! work is lost, where a report is not what happened, or where memory grows. `TMPDIR` says where it runs.

#[path = "../tests/soak/mod.rs"]
mod soak;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut settings = soak::Settings {
        runs: 500,
        jobs: 8,
        seed: 1,
        place: std::env::temp_dir(),
        binary: env!("CARGO_BIN_EXE_agentworkforce").into(),
        verbose: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse::<u64>().ok());
        let count = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
        let taken = match arg.as_str() {
            "--runs" => count(number()).map(|runs| settings.runs = runs),
            "--jobs" => count(number()).map(|jobs| settings.jobs = jobs.max(1)),
            "--seed" => number().map(|seed| settings.seed = seed),
            "--verbose" => {
                settings.verbose = true;
                Some(())
            }
            // Cargo's own word.
            "--bench" => Some(()),
            _ => None,
        };
        if taken.is_none() {
            eprintln!("usage: soak [--runs N] [--jobs N] [--seed N] [--verbose]; `{arg}` is not that");
            return ExitCode::from(2);
        }
    }
    let soaked = soak::soak(&settings);
    println!("{}", soaked.figures);
    for finding in &soaked.findings {
        println!("FOUND: {finding}");
    }
    let flat = soaked.figures.is_flat();
    if !flat {
        println!("FOUND: memory grows");
    }
    if soaked.findings.is_empty() && flat {
        println!("nothing leaked, nothing lost");
        ExitCode::SUCCESS
    } else {
        println!("{} finding(s)", soaked.findings.len() + usize::from(!flat));
        ExitCode::FAILURE
    }
}
