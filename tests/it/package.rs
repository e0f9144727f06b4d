//! What is handed on: the version that a build claims, what is in the package, whose code is in it and on what terms.

use crate::support::TestEnv;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

#[path = "../../build/commit.rs"]
mod commit;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Terms under which code may be part of the program; all let us pass it on under the MIT licence.
const LICENCES: [&str; 6] =
    ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "MIT", "Unicode-3.0", "Zlib"];

/// Crates that are there in two versions: sha2 has not followed blake3 yet, and the macros of landlock those of serde.
const TWICE: [&str; 2] = ["cpufeatures", "syn"];

fn git(dir: &Path, args: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(status.expect("git runs").success(), "git {args:?}");
}

#[test]
fn the_version_names_the_commit_and_says_when_the_sources_differ() {
    let env = TestEnv::new();
    let dir = env.root().join("checkout");
    env.write("checkout/src/main.rs", "fn main() {}");
    env.write("checkout/README.md", "read me");
    git(&dir, &["init", "-q"]);
    assert_eq!(commit::of(&dir), None, "there is no commit yet");
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "one"]);

    let first = commit::of(&dir).expect("a commit");
    assert_eq!(first.name.len(), 12, "{first:?}");
    assert!(first.watched.iter().any(|path| path.ends_with(".git/logs/HEAD")), "{first:?}");
    env.write("checkout/README.md", "read me again");
    assert_eq!(commit::of(&dir).unwrap().name, first.name, "the program is the same");
    env.write("checkout/src/new.rs", "");
    assert_eq!(commit::of(&dir).unwrap().name, format!("{}, modified", first.name));

    // Another worktree has its git directory elsewhere.
    git(&dir, &["worktree", "add", "-q", "--detach", "../linked"]);
    let linked = commit::of(&env.root().join("linked")).expect("a commit");
    assert_eq!(linked.name, first.name);
    assert!(linked.watched.iter().all(|path| path.exists()) && !linked.watched.is_empty(), "{linked:?}");
}

#[test]
fn an_archive_in_a_repository_of_somebody_claims_no_commit_and_a_packaged_crate_says_its_own() {
    let env = TestEnv::new();
    let outer = env.root().join("outer");
    env.write("outer/archive/src/main.rs", "fn main() {}");
    git(&outer, &["init", "-q"]);
    git(&outer, &["add", "-A"]);
    git(&outer, &["commit", "-qm", "not ours"]);
    assert_eq!(commit::of(&outer.join("archive")), None);

    let note = |text: &str| env.write("outer/archive/.cargo_vcs_info.json", text);
    note(r#"{"git": {"sha1": "0123456789abcdef0123456789abcdef01234567"}, "path_in_vcs": ""}"#);
    assert_eq!(commit::of(&outer.join("archive")).unwrap().name, "0123456789ab");
    note(r#"{"git": {"sha1": "0123456789abcdef0123456789abcdef01234567", "dirty": true}}"#);
    assert_eq!(commit::of(&outer.join("archive")).unwrap().name, "0123456789ab, modified");
    note(r#"{"git": {"sha1": "not a commit, really"}}"#);
    assert_eq!(commit::of(&outer.join("archive")), None);
}

fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(args).current_dir(ROOT).output().expect("cargo runs");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_package_holds_what_the_program_is_built_from_and_nothing_else() {
    let listed = cargo(&["package", "--list", "--allow-dirty", "--offline"]);
    let files: Vec<&str> = listed.lines().collect();
    for needed in
        ["src/main.rs", "build.rs", "build/commit.rs", "personas/engineer.json", "LICENSE", "README.md"]
    {
        assert!(files.contains(&needed), "{needed} is missing in {files:#?}");
    }
    let wanted = ["src/", "personas/", "build/", "docs/"];
    let alone = [
        "build.rs",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "Cargo.toml",
        "Cargo.toml.orig",
        "Cargo.lock",
    ];
    for file in files.iter().filter(|file| **file != ".cargo_vcs_info.json") {
        assert!(
            wanted.iter().any(|dir| file.starts_with(dir)) || alone.contains(file),
            "{file} has no business in the package"
        );
    }
}

/// Offline, so there is no list of advisories here: `cargo deny check advisories` wants the network.
#[test]
fn all_code_in_the_program_is_there_on_terms_that_we_know_and_once() {
    let tree =
        ["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}|{l}"];
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut problems = BTreeSet::new();
    for line in cargo(&tree).lines() {
        let (package, licence) = line.trim_end_matches(" (*)").split_once('|').expect("two columns");
        let mut words = package.split(' ');
        let (name, version) = (words.next().expect("a name"), words.next().expect("a version"));
        versions.entry(name.to_owned()).or_default().insert(version.to_owned());
        if !is_allowed(licence) {
            problems.insert(format!("{name}: licence {licence}"));
        }
        // Nothing is said of a place where the crate is from the registry.
        let place = words.find(|word| *word != "(proc-macro)");
        if place.is_some() && name != env!("CARGO_PKG_NAME") {
            problems.insert(format!("{package}: not from the registry"));
        }
    }
    assert!(versions.len() > 50, "too few crates to be true: {}", versions.len());
    for (name, versions) in &versions {
        if versions.len() > 1 && !TWICE.contains(&name.as_str()) {
            problems.insert(format!("{name} is there as {versions:?}"));
        }
    }
    assert_eq!(problems, BTreeSet::new());
}

#[test]
fn a_licence_must_be_allowed_in_every_part_and_one_alternative_is_enough() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in
        ["none", "GPL-3.0", "MIT AND GPL-3.0", "GPL-3.0 OR AGPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", ""]
    {
        assert!(!is_allowed(bad), "{bad}");
    }
}

/// `AND` of `OR`s is all that crates write.
fn is_allowed(licence: &str) -> bool {
    licence.replace('/', " OR ").split(" AND ").all(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|one| LICENCES.contains(&one.trim()))
    })
}
