//! What is handed on: the version that a build claims, what is in the package, whose code is in it and on what terms.

use crate::support::TestEnv;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[path = "../../build/commit.rs"]
mod commit;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Terms under which code may be part of the program; all let us pass it on under the MIT licence.
const LICENCES: [&str; 9] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Crates that are in the program in two versions, because others have not moved yet.
const TWICE: [&str; 2] = ["bitflags", "cpufeatures"];

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
    let alone =
        ["build.rs", "LICENSE", "README.md", "CHANGELOG.md", "Cargo.toml", "Cargo.toml.orig", "Cargo.lock"];
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
    let metadata: Value = serde_json::from_str(&cargo(&[
        "metadata",
        "--offline",
        "--locked",
        "--format-version=1",
        "--filter-platform",
        &host_platform(),
    ]))
    .expect("JSON");
    let packages = by_id(&metadata);
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut problems = Vec::new();
    for id in in_the_program(&metadata) {
        let package = packages[id];
        let name = package["name"].as_str().expect("a name");
        versions.entry(name).or_default().push(package["version"].as_str().expect("a version"));
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_allowed(licence) {
            problems.push(format!("{name}: licence {licence}"));
        }
        if package["source"].as_str().is_some_and(|source| !source.starts_with("registry+")) {
            problems.push(format!("{name}: comes from {}", package["source"]));
        }
    }
    assert!(versions.len() > 50, "too few crates to be true: {}", versions.len());
    for (name, versions) in &versions {
        if versions.len() > 1 && !TWICE.contains(name) {
            problems.push(format!("{name} is there as {}", versions.join(" and ")));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
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

fn host_platform() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned()
}

fn by_id(metadata: &Value) -> BTreeMap<&str, &Value> {
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().map(|package| (package["id"].as_str().expect("an id"), package)).collect()
}

/// Everything that is linked into the program: no build and no development dependencies.
fn in_the_program(metadata: &Value) -> Vec<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let mut found = vec![metadata["resolve"]["root"].as_str().expect("our own")];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        next += 1;
        let node = nodes.iter().find(|node| node["id"] == id).expect("it is resolved");
        for dependency in node["deps"].as_array().expect("dependencies") {
            let linked =
                dependency["dep_kinds"].as_array().expect("kinds").iter().any(|kind| kind["kind"].is_null());
            let id = dependency["pkg"].as_str().expect("an id");
            if linked && !found.contains(&id) {
                found.push(id);
            }
        }
    }
    found
}
