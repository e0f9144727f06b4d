//! What each run is to do and what it is to die of, from the seed alone.

use std::fmt::{Display, Formatter};

/// Three projects that all runs share; the last has no repository.
pub const PROJECTS: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub number: usize,
    pub project: usize,
    pub backend: &'static str,
    /// What `--apply` says; nothing is `auto`.
    pub apply: Option<&'static str>,
    pub conduct: Conduct,
    /// How long the agent takes, in milliseconds.
    pub works_for: u64,
    pub death: Option<Death>,
}

/// What the agent does besides its own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    Works,
    /// It exits with an error after its work.
    Fails,
    /// It commits its work.
    Commits,
    /// It writes a file that others write too.
    Shares,
    /// It leaves a process behind that would live for long.
    LeavesAChild,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Death {
    pub by: By,
    pub when: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    KillOfTheRunner,
    TermOfTheRunner,
    CtrlC,
    KillOfTheHarness,
    /// Any process of the run but the runner.
    KillOfAny,
}

/// Parts of the time that a run takes here and now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    AfterStart(f64),
    /// After the agent has done its work: while it is looked at and applied.
    AfterWork(f64),
}

impl Wish {
    pub fn all(runs: usize, seed: u64) -> Vec<Wish> {
        let mut dice = Dice { state: seed };
        (0..runs).map(|number| Wish::one(number, &mut dice)).collect()
    }

    fn one(number: usize, dice: &mut Dice) -> Wish {
        Wish {
            number,
            project: dice.below(PROJECTS),
            backend: dice.of(&["overlay", "overlay", "copy"]),
            apply: dice.of(&[Some("auto"), Some("auto"), None, Some("never")]),
            conduct: dice.of(&[
                Conduct::Works,
                Conduct::Works,
                Conduct::Works,
                Conduct::Fails,
                Conduct::Commits,
                Conduct::Shares,
                Conduct::LeavesAChild,
            ]),
            works_for: dice.below(150) as u64,
            death: (dice.part() < 0.6).then(|| Death {
                by: dice.of(&[
                    By::KillOfTheRunner,
                    By::KillOfTheRunner,
                    By::TermOfTheRunner,
                    By::CtrlC,
                    By::KillOfTheHarness,
                    By::KillOfAny,
                ]),
                when: if dice.part() < 0.5 {
                    When::AfterStart(dice.part() * 0.8)
                } else {
                    When::AfterWork(dice.part())
                },
            }),
        }
    }

    /// What the project must have of this run when its work is applied, and what it has before: path, before, after.
    pub fn files(&self) -> [(String, Option<String>, Option<String>); 3] {
        let number = self.number;
        [
            (format!("runs/new-{number}/file"), None, Some(format!("new {number}\n"))),
            (format!("own/{number}"), Some(format!("base {number}\n")), Some(format!("changed {number}\n"))),
            (format!("gone/{number}"), Some(format!("base {number}\n")), None),
        ]
    }

    /// The same as a script, and what else it does; `SPEECH` is claude's.
    pub fn script(&self) -> String {
        let number = self.number;
        let special = match self.conduct {
            Conduct::Works | Conduct::Fails => "",
            Conduct::Commits => {
                "git rev-parse -q --verify HEAD > /dev/null 2>&1 && git add -A && git commit -qm work"
            }
            Conduct::Shares => &format!("echo {number} > shared"),
            Conduct::LeavesAChild => "setsid sleep 900 > /dev/null 2>&1 < /dev/null & sleep 900 & :",
        };
        let (half, end) = (self.works_for, i32::from(self.conduct == Conduct::Fails));
        format!(
            "mkdir runs/new-{number}; echo new {number} > runs/new-{number}/file; sleep {:.3}
             echo changed {number} > own/{number}; rm gone/{number}
             {special}",
            f64::from(u32::try_from(half).unwrap_or(0)) / 1000.0
        ) + &format!("\nfinish {end}")
    }
}

impl Display for Wish {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let apply = self.apply.unwrap_or("(auto)");
        write!(
            f,
            "run {} in p{}, {}, apply {apply}, {:?}",
            self.number, self.project, self.backend, self.conduct
        )?;
        match self.death {
            Some(death) => write!(f, ", dies by {:?} {:?}", death.by, death.when),
            None => write!(f, ", lives"),
        }
    }
}

/// SplitMix64: small, and the same everywhere.
struct Dice {
    state: u64,
}

impl Dice {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    /// From 0 to 1, in thousandths.
    fn part(&mut self) -> f64 {
        f64::from(u32::try_from(self.below(1000)).expect("it is small")) / 1000.0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
