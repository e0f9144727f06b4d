//! Where packs come from: git repositories and npm, here without any network.

use crate::support::packs::{Entry, PERSONAS, git, gzip, installed, lock, program, tar, two, with_sidecar};
use crate::support::require;
use crate::support::{TestEnv, flat};
use serde_json::json;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A bare repository of the two personas, with everything in it that would run on a careless checkout.
fn repository(env: &TestEnv) -> PathBuf {
    let work = two(env, "work/mine");
    git(&work, &["init", "--quiet"]);
    env.write("work/mine/.gitattributes", "*.md filter=evil\n");
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "one"]);
    git(&work, &["tag", "v1"]);
    let bare = env.root().join("served/mine.git");
    std::fs::create_dir_all(bare.parent().unwrap()).unwrap();
    git(&work, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let hook = env.write("served/mine.git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(&work, &["remote", "add", "served", bare.to_str().unwrap()]);
    bare
}

#[test]
fn a_repository_is_read_at_its_commit_and_never_checked_out() {
    let env = TestEnv::new();
    env.write(
        "home/.gitconfig",
        "[filter \"evil\"]\n smudge = touch /nonexistent/ran\n required = true\n[safe]\n directory = *\n",
    );
    let bare = repository(&env);
    let first = git(&bare, &["rev-parse", "HEAD"]);
    let url = format!("file://{}", bare.display());
    env.run(["install", &url]).succeeds();
    assert_eq!(installed(&env).len(), 5);
    let locked = lock(&env);
    let locked = &locked["packs"]["@team/mine"];
    assert_eq!((&locked["source"], &locked["resolved"]), (&json!(url), &json!(first)));

    let work = env.root().join("work/mine");
    env.write("work/mine/personas/a.md", "A2\n");
    git(&work, &["commit", "--quiet", "-am", "two"]);
    git(&work, &["push", "--quiet", "served", "HEAD"]);
    env.run(["install", &url, "--locked"]).fails(4, "the lock says");
    // The lock alone still gives the first commit.
    std::fs::remove_file(env.root().join(PERSONAS).join("a__assets/a.md")).unwrap();
    env.run(["install", "--locked"]).succeeds();
    assert_eq!(env.read(format!("{PERSONAS}/a__assets/a.md")), "A1\n");
    env.run(["update"]).succeeds();
    assert_eq!(env.read(format!("{PERSONAS}/a__assets/a.md")), "A2\n");
    assert_eq!(lock(&env)["packs"]["@team/mine"]["resolved"], git(&bare, &["rev-parse", "HEAD"]));
}

#[test]
fn a_tag_and_a_directory_of_a_repository_can_be_named() {
    let env = TestEnv::new();
    env.write("home/.gitconfig", "[safe]\n directory = *\n");
    let bare = repository(&env);
    let url = format!("file://{}", bare.display());
    env.run(["install", &format!("{url}#v1")]).succeeds();
    env.run(["uninstall", "@team/mine"]).succeeds();
    env.run(["install", &format!("{url}/tree/v1/personas")]).succeeds();
    assert_eq!(installed(&env).len(), 5);
    let before = env.everything();
    env.run(["install", &format!("{url}#v9")]).fails(1, "the repository has no branch or tag `v9`");
    env.run(["install", &format!("{url}/tree/v1/none")]).fails(1, "it has no files at `none`");
    env.run(["install", "file:///nonexistent/x.git"]).fails(1, "git failed");
    assert_eq!(env.everything(), before);
}

/// Takes the place of npm: writes down how it was called and brings an archive.
const NPM: &str = r#"
printf '%s\n' "$@" > "$HOME/npm-args"; env > "$HOME/npm-env"; pwd > "$HOME/npm-cwd"
while [ $# -gt 1 ]; do if [ "$1" = --pack-destination ]; then dest=$2; fi; shift; done
cp "$HOME/pack.tgz" "$dest/team-mine-1.0.0.tgz"
"#;

fn npm_archive(version: &str) -> Vec<u8> {
    let manifest = json!({"name": "@team/mine", "version": version}).to_string();
    let persona = with_sidecar("p").to_string();
    gzip(&tar(&[
        Entry::file("package/package.json", &manifest),
        Entry::file("package/personas/p.json", &persona),
        Entry::file("package/personas/p.md", "P"),
        Entry::file("package/index.js", "boom"),
    ]))
}

#[test]
fn a_package_is_packed_by_npm_without_scripts_and_without_keys() {
    let mut env = TestEnv::new();
    env.write("home/pack.tgz", npm_archive("1.0.0"));
    env.write("home/.npmrc", "//registry.example/:_authToken=${TEAM_REGISTRY_TOKEN}\n");
    program(&mut env, "npm", NPM);
    env.set_var("ANTHROPIC_API_KEY", "secret-key");
    env.set_var("TEAM_REGISTRY_TOKEN", "for-npm");
    env.run(["install", "@team/mine@^1"]).succeeds();
    assert_eq!(installed(&env), ["agentworkforce.lock", "p.json", "p__assets/p.md"]);
    let locked = lock(&env);
    let locked = &locked["packs"]["@team/mine"];
    assert_eq!((&locked["source"], &locked["resolved"]), (&json!("@team/mine@^1"), &json!("1.0.0")));
    let args = env.read("home/npm-args");
    assert!(args.starts_with("pack\n") && args.ends_with("--\n@team/mine@^1\n"), "{args}");
    assert!(args.contains("--ignore-scripts\n"), "{args}");
    let given = env.read("home/npm-env");
    assert!(!given.contains("secret-key") && given.contains("TEAM_REGISTRY_TOKEN=for-npm"), "{given}");
    let cwd = env.read("home/npm-cwd");
    assert!(!PathBuf::from(cwd.trim()).exists(), "the directory of npm is thrown away");
    // What the lock names is fetched at its version.
    std::fs::remove_file(env.root().join(PERSONAS).join("p.json")).unwrap();
    env.run(["install", "--locked"]).succeeds();
    assert!(env.read("home/npm-args").ends_with("--\n@team/mine@1.0.0\n"));
    env.write("home/pack.tgz", npm_archive("1.1.0"));
    let ran = env.run(["update"]);
    assert!(ran.succeeds().stdout.contains("@team/mine 1.0.0 -> 1.1.0"), "{ran:#?}");
}

#[test]
fn the_real_npm_packs_a_directory_without_running_its_scripts() {
    require::program("npm");
    let env = TestEnv::new();
    let dir = two(&env, "mine");
    env.run(["install", "file:../mine"]).succeeds();
    assert_eq!(installed(&env).len(), 5);
    assert!(!dir.join("ran").exists(), "a script of the package ran");
    assert_eq!(lock(&env)["packs"]["@team/mine"]["resolved"], "1.0.0");
}

#[test]
fn without_npm_or_git_the_user_is_told() {
    let mut env = TestEnv::new();
    std::fs::create_dir(env.root().join("empty")).unwrap();
    env.set_var("PATH", env.root().join("empty").to_str().unwrap());
    let before = env.everything();
    env.run(["install", "@team/mine"]).fails(1, "`npm` is not on the PATH");
    env.run(["install", "https://host.invalid/o/r"]).fails(1, "`git` is not on the PATH");
    env.run(["install", "@team/mine", "--json"]).fails_in_json(1, "failed");
    assert_eq!(env.everything(), before);
}

#[test]
fn a_registry_that_does_not_answer_is_not_waited_for() {
    let mut env = TestEnv::new();
    program(&mut env, "npm", "echo $$ > \"$HOME/pid\"\nsleep 300\n");
    let started = Instant::now();
    env.run(["install", "@team/mine", "--timeout", "1"]).fails(124, "`npm` did not end within 1 s");
    assert!(started.elapsed() < Duration::from_mins(1));
    assert!(!env.project().join(".agentworkforce").exists());
    assert_ended(env.read("home/pid").trim());
}

#[test]
fn a_signal_while_fetching_ends_npm_and_writes_nothing() {
    let mut env = TestEnv::new();
    program(
        &mut env,
        "npm",
        "pwd > \"$HOME/npm-cwd\"; echo $$ > \"$HOME/pid.part\"; mv \"$HOME/pid.part\" \"$HOME/pid\"\nsleep 300\n",
    );
    let mut command = env.command(["install", "@team/mine"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = env.home().join("pid");
    for _ in 0..3_000 {
        if pid.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let own = i32::try_from(child.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(own), nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert_ended(env.read("home/pid").trim());
    assert!(!PathBuf::from(env.read("home/npm-cwd").trim()).exists());
    assert!(!env.project().join(".agentworkforce").exists());
}

/// A killed process is a zombie until its new parent looks after it.
fn assert_ended(pid: &str) {
    for _ in 0..500 {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(text) if !text.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
    panic!("{pid} still runs");
}

#[test]
fn a_source_that_could_be_two_things_is_not_guessed() {
    let mut env = TestEnv::new();
    env.write("home/pack.tgz", npm_archive("1.0.0"));
    program(&mut env, "npm", NPM);
    env.write("project/mine/personas/q.json", flat("q", "x").to_string());
    let ran = env.run(["install", "mine"]);
    assert!(ran.succeeds().stderr.contains("`./mine` is the directory"), "{ran:#?}");
    assert!(installed(&env).contains(&"p.json".to_owned()));
    env.run(["install", "owner/repository"]).fails(2, "neither a local path nor an npm package");
    env.run(["install", "./none"]).fails(2, "no pack at");
    env.run(["install"]).fails(2, "required");
}

#[test]
fn the_json_of_one_persona_is_a_pack_of_one() {
    let env = TestEnv::new();
    let mut persona = with_sidecar("solo");
    persona["skills"] = json!([{"id": "s", "source": "./skills/tool"}]);
    persona["agentsMd"] = json!("docs/agents.md");
    env.write("bag/solo.json", persona.to_string());
    env.write("bag/solo.md", "S1\n");
    env.write("bag/docs/agents.md", "agents");
    env.write("bag/skills/tool/SKILL.md", "# tool");
    env.write("bag/other.json", "not even JSON");
    env.run(["install", "../bag/solo.json"]).succeeds();
    let expected = [
        "agentworkforce.lock",
        "solo.json",
        "solo__assets/agents.md",
        "solo__assets/solo.md",
        "solo__assets/tool/SKILL.md",
    ];
    assert_eq!(installed(&env), expected);
    assert_eq!(lock(&env)["packs"]["solo"]["source"], "../bag/solo.json");
    env.write("bag/solo.md", "S2\n");
    env.run(["update"]).succeeds();
    assert_eq!(env.read(format!("{PERSONAS}/solo__assets/solo.md")), "S2\n");
    env.run(["uninstall", "solo"]).succeeds();

    std::fs::remove_file(env.root().join("bag/solo.md")).unwrap();
    std::os::unix::fs::symlink("../home/secret", env.root().join("bag/solo.md")).unwrap();
    env.run(["install", "../bag/solo.json"]).fails(1, "leads out of the pack");
    std::fs::remove_file(env.root().join("bag/solo.md")).unwrap();
    env.run(["install", "../bag/solo.json"]).fails(1, "there is no `solo.md` in the pack");
    env.run(["install", "../bag/other.json"]).fails(1, "other.json");
    env.write("bag/package.json", "{}");
    env.run(["install", "../bag/package.json"]).fails(1, "name its directory");
    env.write("bag/notes.txt", "text");
    let ran = env.run(["install", "../bag/notes.txt"]);
    ran.fails(1, "not a `.tgz` or `.tar` archive")
        .fails(1, "name a directory, a `.tgz`, a persona's `.json`");
    assert_eq!(installed(&env), Vec::<String>::new());
}

#[test]
fn a_package_can_be_named_as_one() {
    let mut env = TestEnv::new();
    env.write("home/pack.tgz", npm_archive("1.0.0"));
    program(&mut env, "npm", NPM);
    env.write("project/mine/personas/q.json", flat("q", "x").to_string());
    let ran = env.run(["install", "npm:mine"]);
    assert!(!ran.succeeds().stderr.contains("is the directory"), "{ran:#?}");
    assert!(env.read("home/npm-args").ends_with("--\nmine\n"));
    env.run(["install", "npm:owner/repository"]).fails(2, "`owner/repository` is not an npm package");
    env.run(["install", "npm:../x"]).fails(2, "is not an npm package");
}

#[test]
fn a_lock_works_from_another_checkout_and_says_where_it_looked() {
    let env = TestEnv::new();
    two(&env, "packs/mine");
    env.run(["install", "../packs/mine"]).succeeds();
    assert_eq!(lock(&env)["packs"]["@team/mine"]["source"], "../packs/mine");
    // Both directories somewhere else, as on the machine of a colleague.
    let elsewhere = TestEnv::new();
    two(&elsewhere, "packs/mine");
    let text = env.read(format!("{PERSONAS}/agentworkforce.lock"));
    assert!(!text.contains(env.root().to_str().unwrap()), "{text}");
    elsewhere.write(format!("{PERSONAS}/agentworkforce.lock"), &text);
    elsewhere.run(["install", "--locked"]).succeeds();
    assert_eq!(installed(&elsewhere).len(), 5);
    elsewhere.run(["update"]).succeeds();
    std::fs::rename(elsewhere.root().join("packs"), elsewhere.root().join("moved")).unwrap();
    let ran = elsewhere.run(["update"]);
    ran.fails(1, "there is no ../packs/mine, which is its source in the lock");
    std::fs::remove_file(elsewhere.root().join(PERSONAS).join("a.json")).unwrap();
    elsewhere.run(["install", "--locked"]).fails(1, "there is no ../packs/mine");
    elsewhere.run(["install", "../moved/mine"]).succeeds();
    assert_eq!(lock(&elsewhere)["packs"]["@team/mine"]["source"], "../moved/mine");
    assert_eq!(installed(&elsewhere).len(), 5);
}

#[test]
fn names_and_versions_that_are_paths_are_refused() {
    let env = TestEnv::new();
    two(&env, "mine");
    for (key, value) in [
        ("name", json!("../../x")),
        ("name", json!("a/b")),
        ("name", json!("@team/../x")),
        ("name", json!(".x")),
        ("name", json!("")),
        ("name", json!(3)),
        ("version", json!("1/../../x")),
        ("version", json!("..")),
    ] {
        let mut manifest = json!({"name": "@team/mine", "version": "1.0.0"});
        manifest[key] = value.clone();
        env.write("mine/package.json", manifest.to_string());
        let before = env.everything();
        for args in [["install", "../mine"], ["pack", "../mine"]] {
            env.run(args).fails(1, &format!("package.json: {key}: {value} is not a valid package {key}"));
        }
        assert_eq!(env.everything(), before);
    }
}

#[test]
fn drift_names_the_command_that_mends_it_and_it_does() {
    let env = TestEnv::new();
    two(&env, "mine");
    env.run(["install", "../mine"]).succeeds();
    // Edited here.
    env.write(format!("{PERSONAS}/a__assets/a.md"), "mine\n");
    let ran = env.run(["install", "--locked"]);
    ran.fails(4, "a__assets/a.md was edited and differs from the lock");
    ran.fails(4, "`agentworkforce update --take-theirs a`");
    assert!(!ran.stderr.contains("update --diff"), "nothing is new in the pack: {ran:#?}");
    env.run(["update", "--take-theirs", "a"]).succeeds();
    env.run(["install", "--locked"]).succeeds();
    // Changed by the pack.
    env.write("mine/package.json", json!({"name": "@team/mine", "version": "2.0.0"}).to_string());
    env.write("mine/personas/a.md", "A2\n");
    let ran = env.run(["install", "../mine", "--locked"]);
    ran.fails(4, "pack `@team/mine` is at 2.0.0, the lock says 1.0.0");
    ran.fails(4, "`agentworkforce update @team/mine` installs it");
    assert!(!ran.stderr.contains("--keep-mine"), "nothing was edited: {ran:#?}");
    env.run(["update", "@team/mine"]).succeeds();
    env.run(["install", "../mine", "--locked"]).succeeds();
    // For the other layer the command says so.
    env.run(["install", "../mine", "--to", "user"]).succeeds();
    std::fs::write(env.workforce().join("personas/a.json"), flat("a", "mine").to_string()).unwrap();
    env.run(["install", "--locked", "--to", "user"])
        .fails(4, "`agentworkforce update --keep-mine a --in user`");
    env.run(["update", "--keep-mine", "a", "--in", "user"]).succeeds();
    env.run(["install", "--locked", "--to", "user"]).succeeds();
}
