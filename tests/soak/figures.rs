//! The figures of a soak, as text.

use super::one_run::Did;
use super::wish::Wish;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::time::Duration;

/// Measured besides the runs themselves. Memory in kilobytes, with the number of sessions it was measured at.
pub struct Measured {
    pub seed: u64,
    pub jobs: usize,
    pub ran_for: Duration,
    pub took: Duration,
    pub interrupted: usize,
    pub list_early: (u64, usize),
    pub list_late: (u64, usize),
    pub store_start: u64,
    pub store_full: u64,
    pub store_end: u64,
}

pub struct Figures {
    measured: Measured,
    runs: usize,
    hurt: BTreeMap<String, usize>,
    said: BTreeMap<String, usize>,
    ends: BTreeMap<String, usize>,
    /// The median of the runs' peak memory in kilobytes: of the first fifth, of the last.
    pub peak_early: u64,
    pub peak_late: u64,
    peak_most: u64,
}

impl Figures {
    pub fn new(wishes: &[Wish], dids: &[Did], measured: Measured) -> Figures {
        let mut figures = Figures {
            measured,
            runs: dids.len(),
            hurt: BTreeMap::new(),
            said: BTreeMap::new(),
            ends: BTreeMap::new(),
            peak_early: 0,
            peak_late: 0,
            peak_most: dids.iter().map(|did| did.peak).max().unwrap_or(0),
        };
        for (wish, did) in wishes.iter().zip(dids) {
            if let (Some(death), Some((_, said))) = (wish.death, &did.hurt) {
                *figures.hurt.entry(format!("{:?}", death.by)).or_default() += 1;
                *figures.said.entry(said.clone()).or_default() += 1;
            }
            let end = match &did.report {
                Some(report) => report["apply"]["status"].as_str().unwrap_or("unknown"),
                None => "killed without a report",
            };
            *figures.ends.entry(end.to_owned()).or_default() += 1;
        }
        // Only those that came to their end: the peak of a run that was cut off says nothing.
        let whole: Vec<u64> =
            dids.iter().filter(|did| did.hurt.is_none() && did.peak > 0).map(|did| did.peak).collect();
        let fifth = (whole.len() / 5).max(1).min(whole.len());
        figures.peak_early = median(&whole[..fifth]);
        figures.peak_late = median(&whole[whole.len() - fifth..]);
        figures
    }

    /// Whether a run at the end takes about as much memory as one at the start; two megabytes are the noise of one run.
    pub fn is_flat(&self) -> bool {
        self.peak_late <= self.peak_early + 2048
    }
}

fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn counts(counts: &BTreeMap<String, usize>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

fn megabytes(kilobytes: u64) -> f64 {
    f64::from(u32::try_from(kilobytes).unwrap_or(u32::MAX)) / 1024.0
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let measured = &self.measured;
        let hurt: usize = self.hurt.values().sum();
        writeln!(
            f,
            "{} runs, {} at a time, seed {}: {:.1} s, {:.1} s with the counting",
            self.runs,
            measured.jobs,
            measured.seed,
            measured.ran_for.as_secs_f64(),
            measured.took.as_secs_f64()
        )?;
        writeln!(f, "hurt      {hurt}: {}", counts(&self.hurt))?;
        writeln!(f, "at        {}", counts(&self.said))?;
        writeln!(f, "reported  {}; {} taken up at the end", counts(&self.ends), measured.interrupted)?;
        writeln!(
            f,
            "memory    of a run {:.1} MB early, {:.1} MB late, {:.1} MB at most; of `sessions list` {:.1} MB at {} sessions, {:.1} MB at {}",
            megabytes(self.peak_early),
            megabytes(self.peak_late),
            megabytes(self.peak_most),
            megabytes(measured.list_early.0),
            measured.list_early.1,
            megabytes(measured.list_late.0),
            measured.list_late.1
        )?;
        write!(
            f,
            "store     {} KB at the start, {} KB full, {} KB after prune",
            measured.store_start / 1024,
            measured.store_full / 1024,
            measured.store_end / 1024
        )
    }
}
