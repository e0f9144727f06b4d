//! Sources of packs and skills, selectors, tool rules, references to variables.

use crate::host::Host;
use crate::model::selector::Selector;
use crate::model::skill_source as skill;
use crate::model::tool_rule::ToolRule;
use crate::pack::source::PackSource;
use crate::remote::git_source::{GitSource, split_tail, userinfo, without_password};
use crate::resolve::references::{Piece, env_names, env_pieces, fill_inputs};
use std::collections::BTreeMap;
use std::path::Path;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines() {
        source(line);
        git(line);
        let _ = (Selector::parse(line).is_ok(), skill::kind_of(line), skill::name_of(line));
        let _ = ToolRule::parse(line).command_pattern();
    }
    references(text);
}

/// The text in the lock means the same source and never contains a password.
fn source(text: &str) {
    let base = Path::new("/nonexistent/base");
    let host = Host {
        env: BTreeMap::from([("HOME".into(), "/nonexistent/home".into())]),
        cwd: base.to_owned(),
        stdin_is_terminal: false,
        stderr_is_terminal: false,
    };
    let Ok(source) = PackSource::of_text(text, &host, base) else { return };
    let kept = source.lock_text(base);
    assert_eq!(userinfo(&kept).filter(|user| *user != "***"), None, "{kept}");
    let again = PackSource::of_text(&kept, &host, base);
    // The lock has the normalised path, which may mean something else than what was typed: `r.git//tree/x` is a
    // directory, `r.git/tree/x` a branch. A blank at the end of a file name is lost.
    let is_plain = !text.replacen("://", "", 1).contains("//") && !text.contains("/.") && kept.trim() == kept;
    if !kept.contains("***") && is_plain {
        assert_eq!(again.ok().as_ref(), Some(&source), "{text:?} was kept as {kept:?}");
    }
    let _ = source.name();
}

fn git(text: &str) {
    let source = GitSource::parse(text);
    let _ = source.is_pinned();
    let refs = ["refs/heads/main".to_owned(), "refs/heads/a/b".to_owned(), "refs/tags/v1".to_owned()];
    if let Some(tail) = &source.tail
        && let Some((name, path)) = split_tail(tail, &refs)
    {
        assert!(tail.ends_with(path) && !name.is_empty());
    }
    if let Some(secret) = userinfo(text) {
        let shown = without_password(text);
        assert_eq!(userinfo(&shown).filter(|user| *user != "***"), None, "{secret:?} in {shown:?}");
        assert_eq!(shown.len() - 3, text.len() - secret.len(), "nothing else is changed");
    }
}

/// Without declared inputs a text is unchanged.
fn references(text: &str) {
    let names = env_names(text);
    let variables = env_pieces(text).iter().filter(|piece| matches!(piece, Piece::Variable(_))).count();
    assert!(names.len() <= variables, "{text:?}");
    assert_eq!(fill_inputs(text, &BTreeMap::new()), text);
    let values = BTreeMap::from([("A".to_owned(), "$A ${A}".to_owned())]);
    let _ = fill_inputs(text, &values);
}
