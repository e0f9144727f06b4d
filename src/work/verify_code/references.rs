//! New definitions that nobody uses, and names that are defined twice: hints for a reviewer, never more than minor.

use super::short;
use crate::model::verdict::{Check, CheckName, CheckSeverity};
use crate::work::evidence::Evidence;
use crate::work::path_kind::{is_code, is_fixture, is_test};
use crate::work::source::{Function, Language, functions, masked};
use std::collections::{BTreeMap, HashMap, HashSet};

/// New functions of code that is no test, with their files.
fn new_functions(evidence: &Evidence) -> Vec<(String, Language, Function)> {
    let mut found = Vec::new();
    for file in &evidence.changes.files {
        let name = file.name();
        let Some(language) =
            Language::of(&name).filter(|_| is_code(&name) && !is_test(&name) && !is_fixture(&name))
        else {
            continue;
        };
        if file.renamed_from.is_some() {
            continue;
        }
        let known: HashSet<String> = functions(file.text_before().unwrap_or(""), language)
            .into_iter()
            .map(|function| function.name)
            .collect();
        let new = functions(file.text_after().unwrap_or(""), language)
            .into_iter()
            .filter(|function| !known.contains(&function.name));
        found.extend(new.map(|function| (name.clone().into_owned(), language, function)));
    }
    found
}

/// All code of the result that is known, by path.
fn code_of_result(evidence: &Evidence) -> BTreeMap<String, &str> {
    let mut texts: BTreeMap<String, &str> =
        evidence.base.texts.iter().map(|(path, text)| (path.clone(), text.as_ref())).collect();
    for file in &evidence.changes.files {
        match file.text_after() {
            Some(text) => texts.insert(file.name().into_owned(), text),
            None => texts.remove(file.name().as_ref()),
        };
    }
    texts.retain(|path, _| is_code(path));
    texts
}

/// `symbols`: new public definitions have a reference outside their file.
pub fn symbols(evidence: &Evidence) -> Check {
    let id = CheckName::Symbols;
    let expected = "new public definitions are used outside their file";
    if !evidence.base.has_all_code {
        return Check::skipped(id, "not all code was read");
    }
    let new: Vec<_> = new_functions(evidence)
        .into_iter()
        .filter(|(_, _, function)| function.is_public && function.name != "main")
        .collect();
    if new.is_empty() {
        return Check::passed(id, expected, "no new public definition");
    }
    // The files in which each of the names occurs.
    let wanted: HashSet<&str> = new.iter().map(|(_, _, function)| function.name.as_str()).collect();
    let mut files: HashMap<&str, HashSet<String>> = HashMap::new();
    for (path, text) in code_of_result(evidence) {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$') {
            if let Some(name) = wanted.get(word) {
                files.entry(name).or_default().insert(path.clone());
            }
        }
    }
    let is_unused =
        |path: &String, name: &str| files.get(name).is_none_or(|files| files.iter().all(|file| file == path));
    let unused = new.iter().filter(|(path, _, function)| is_unused(path, &function.name));
    let lines: Vec<String> =
        unused.map(|(path, _, function)| format!("{path}:{}: `{}`", function.line, function.name)).collect();
    if lines.is_empty() {
        return Check::passed(id, expected, format!("{} new, all used", new.len()));
    }
    let observed = format!("{} of {} are not", lines.len(), new.len());
    Check::failed(id, CheckSeverity::Minor, None, expected, observed).with_evidence(short(lines))
}

/// `duplicates`: a new function has the name of one elsewhere.
pub fn duplicates(evidence: &Evidence) -> Check {
    const COMMON: [&str; 18] = [
        "main",
        "new",
        "init",
        "setup",
        "teardown",
        "constructor",
        "render",
        "default",
        "from",
        "into",
        "clone",
        "toString",
        "close",
        "open",
        "run",
        "handle",
        "Error",
        "String",
    ];
    let id = CheckName::Duplicates;
    let expected = "new functions are not defined elsewhere too";
    let new: Vec<_> = new_functions(evidence)
        .into_iter()
        .filter(|(_, _, function)| {
            function.name.len() > 3
                && function.is_public
                && !COMMON.contains(&function.name.as_str())
                && !function.name.starts_with("__")
        })
        .collect();
    if new.is_empty() {
        return Check::passed(id, expected, "no new function to compare");
    }
    let wanted: HashSet<&str> = new.iter().map(|(_, _, function)| function.name.as_str()).collect();
    let mut defined: HashMap<String, Vec<(String, Language)>> = HashMap::new();
    for (path, text) in code_of_result(evidence) {
        let Some(language) = Language::of(&path).filter(|_| !is_test(&path) && !is_fixture(&path)) else {
            continue;
        };
        if !wanted.iter().any(|name| text.contains(name)) || masked(text, language).is_empty() {
            continue;
        }
        for function in
            functions(text, language).into_iter().filter(|function| wanted.contains(function.name.as_str()))
        {
            defined.entry(function.name).or_default().push((path.clone(), language));
        }
    }
    let mut lines = Vec::new();
    for (path, language, function) in &new {
        let others = defined
            .get(&function.name)
            .into_iter()
            .flatten()
            .filter(|(other, of)| other != path && of == language);
        lines
            .extend(others.map(|(other, _)| {
                format!("{path}:{}: `{}` is in {other} too", function.line, function.name)
            }));
    }
    if lines.is_empty() {
        return Check::passed(id, expected, "none found");
    }
    let observed = format!("{} found", lines.len());
    Check::failed(id, CheckSeverity::Minor, None, expected, observed).with_evidence(short(lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::work::verify_code::sample::Sample;

    #[test]
    fn unused_and_double_definitions_are_named() {
        let unused = Sample::new("x").added("src/a.js", "export function lockUser(x) { return x }\n");
        assert_eq!(
            (symbols(&unused.evidence).status, symbols(&unused.evidence).blocks()),
            (CheckStatus::Failed, false)
        );
        let go = Sample::new("x").added("a.go", "func Lock() { f() }\n");
        assert_eq!(symbols(&go.evidence).status, CheckStatus::Failed);
        let double = Sample::new("x")
            .added("src/a.js", "export function lockUser(x) { return x }\n")
            .changed("src/b.js", "", "export function lockUser(x) { return x }\n");
        let check = duplicates(&double.evidence);
        assert_eq!((check.status, check.evidence.len()), (CheckStatus::Failed, 2));
    }

    #[test]
    fn used_and_single_definitions_are_fine() {
        let used = Sample::new("x")
            .added("src/a.js", "export function lockUser(x) { return x }\n")
            .added("src/b.js", "lockUser(1)\n");
        assert_eq!(symbols(&used.evidence).status, CheckStatus::Passed);
        assert_eq!(duplicates(&used.evidence).status, CheckStatus::Passed);
        let mut partly = Sample::new("x").added("src/a.js", "export function lockUser(x) { return x }\n");
        partly.evidence.base.has_all_code = false;
        assert_eq!(symbols(&partly.evidence).status, CheckStatus::Skipped);
        let private = Sample::new("x").added("src/a.js", "function lockUser(x) { return x }\n");
        assert_eq!(symbols(&private.evidence).status, CheckStatus::Passed);
    }
}
