//! Text files that the user and the agent edit at the same time, and what must become of them: a model that knows lines by their
//! place, so that it needs no comparison.

use super::script::Rng;
use super::snapshot::{Node, Snapshot, write_node};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LINES: usize = 14;

/// What one side does to one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Edits {
    /// Lines by number, each with what stands in for it.
    lines: BTreeMap<usize, Option<String>>,
    mode: Option<u32>,
}

/// One text with what both sides do to it.
#[derive(Debug, Clone)]
struct Text {
    path: PathBuf,
    user: Edits,
    agent: Edits,
    /// The user only writes it again, as it was.
    is_touched: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Texts(Vec<Text>);

/// What becomes of the texts of a project.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Merged(Snapshot),
    Conflict,
}

impl Texts {
    pub(super) fn generate(rng: &mut Rng) -> Texts {
        let texts = (0..=rng.below(3))
            .map(|number| {
                let user = Edits::generate(rng, "user");
                let mut agent = Edits::generate(rng, "agent");
                if rng.one_in(3) {
                    // The same edit on both sides.
                    agent.lines.extend(user.lines.clone().into_iter().take(1));
                }
                let is_touched = user == Edits::default() && rng.one_in(2);
                Text { path: format!("text{number}").into(), user, agent, is_touched }
            })
            .collect();
        Texts(texts)
    }

    /// Two texts that merge.
    pub(super) fn that_merge() -> Texts {
        let edits =
            |line: usize, word: &str| Edits { lines: [(line, Some(word.to_owned()))].into(), mode: None };
        let mut agent = edits(9, "agent");
        agent.mode = Some(0o755);
        Texts(vec![
            Text {
                path: "text0".into(),
                user: edits(2, "user"),
                agent: edits(9, "agent"),
                is_touched: false,
            },
            Text { path: "text1".into(), user: edits(2, "user"), agent, is_touched: false },
        ])
    }

    /// The texts at launch.
    pub(super) fn base(&self) -> Snapshot {
        self.0.iter().map(|text| (text.path.clone(), Edits::default().node())).collect()
    }

    /// The texts as the agent leaves them.
    pub(super) fn agents(&self) -> Snapshot {
        self.0.iter().map(|text| (text.path.clone(), text.agent.node())).collect()
    }

    /// The user's edits, in the project.
    pub(super) fn edit_as_user(&self, project: &Path, rng: &mut Rng) {
        for text in &self.0 {
            let path = project.join(&text.path);
            if text.user == Edits::default() && !text.is_touched {
                continue;
            }
            if rng.one_in(2) {
                write_node(&path, &text.user.node());
            } else {
                let beside = project.join(".beside~");
                write_node(&beside, &text.user.node());
                std::fs::rename(&beside, &path).unwrap();
            }
        }
    }

    pub(super) fn expected(&self) -> Outcome {
        let mut merged = Snapshot::new();
        for text in &self.0 {
            match text.expected() {
                Some(node) => merged.insert(text.path.clone(), node),
                None => return Outcome::Conflict,
            };
        }
        Outcome::Merged(merged)
    }

    /// Whether an overlay cannot say if the agent began with something that the user took back.
    pub(super) fn are_doubtful(&self) -> bool {
        self.0.iter().any(|text| text.is_touched && !text.agent.lines.is_empty())
    }

    pub(super) fn is_one(&self, path: &Path) -> bool {
        self.0.iter().any(|text| text.path == path)
    }
}

impl Text {
    /// `None` for a conflict.
    fn expected(&self) -> Option<Node> {
        let mode = match (self.user.mode, self.agent.mode) {
            (Some(user), Some(agent)) if user != agent => return None,
            (user, agent) => user.or(agent),
        };
        let (user, agent) = (regions(&self.user), regions(&self.agent));
        for (start, end) in &user {
            for (other_start, other_end) in &agent {
                let touches = start <= other_end && other_start <= end;
                let lines = |edits: &Edits| -> Vec<(usize, Option<String>)> {
                    edits.lines.range(*start..*end).map(|(at, line)| (*at, line.clone())).collect()
                };
                let is_same =
                    (start, end) == (other_start, other_end) && lines(&self.user) == lines(&self.agent);
                if touches && !is_same {
                    return None;
                }
            }
        }
        let mut both = self.user.clone();
        both.lines.extend(self.agent.lines.clone());
        both.mode = mode;
        Some(both.node())
    }
}

/// Neighbouring lines are one edit.
fn regions(edits: &Edits) -> Vec<(usize, usize)> {
    let mut regions: Vec<(usize, usize)> = Vec::new();
    for &line in edits.lines.keys() {
        match regions.last_mut() {
            Some((_, end)) if *end == line => *end += 1,
            _ => regions.push((line, line + 1)),
        }
    }
    regions
}

impl Edits {
    fn generate(rng: &mut Rng, who: &str) -> Edits {
        let mut edits = Edits::default();
        for _ in 0..rng.below(4) {
            let at = rng.below(LINES);
            let line = (!rng.one_in(4)).then(|| format!("{who} {}", rng.below(1000)));
            edits.lines.insert(at, line);
        }
        if rng.one_in(4) {
            edits.mode = Some([0o755, 0o600][rng.below(2)]);
        }
        edits
    }

    /// The text with these edits.
    fn node(&self) -> Node {
        let mut text = String::new();
        for number in 0..LINES {
            match self.lines.get(&number) {
                None => text.push_str(&format!("line {number}\n")),
                Some(Some(line)) => text.push_str(&format!("{line}\n")),
                Some(None) => {}
            }
        }
        Node::File { bytes: text.into_bytes(), mode: self.mode.unwrap_or(0o644) }
    }
}
