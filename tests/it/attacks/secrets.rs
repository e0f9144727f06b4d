//! Secrets that an agent reads or writes in disguise: tokens of a CI checkout, and values that are escaped or encoded so that nobody
//! finds them.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, for_each_identity};
use crate::support::sessions::{BACKENDS, Did};
use crate::support::with;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const TOKEN: &str = "ghs_S3cretOfTheCheckout";

/// A checkout as CI makes it: the token is in a header, in a url, and in those of a submodule.
fn ci_checkout(world: &World) -> String {
    world.repository(&[("a.txt", "a\n"), (".env", "X=1\n")]);
    world.outside(&format!(
        "git config http.https://h.example/.extraheader 'AUTHORIZATION: basic {TOKEN}'\n\
         git remote add origin https://x-access-token:{TOKEN}@h.example/o/r\n\
         git config url.https://u:{TOKEN}@h.example/.insteadOf git@h.example:\n\
         mkdir inner && cd inner && git init -q -b main . && git config http.extraheader {TOKEN}"
    ));
    fs::read_to_string(world.project().join(".git/config")).unwrap()
}

const LOOK: &str = "cat .git/config inner/.git/config; git config --list; git remote -v; git -C inner config --list; \
     cat \"$(pwd)/.git/config\"; git status --porcelain";

#[test]
fn tokens_of_a_ci_checkout_are_not_in_the_mounts_git_configuration() {
    for_each_identity(|world| {
        let before = ci_checkout(&world);
        for backend in BACKENDS {
            let did =
                world.mounted(&["--mount", backend], &format!("{LOOK}; echo agent > new-{backend}.txt"));
            assert!(!did.stdout.contains(TOKEN), "{backend}: {did:#?}");
            // The rest is there, and git works with it.
            did.says("https://h.example/o/r").says("origin");
            assert!(!did.stderr.contains("the agent wrote"), "{backend}: {did:#?}");
            did.ends(0);
            assert!(world.project().join(format!("new-{backend}.txt")).exists());
            assert_eq!(fs::read_to_string(world.project().join(".git/config")).unwrap(), before, "{backend}");
        }
        world.aw(["config", "set", "mount.gitCredentials", "keep"]).ends(0);
        for backend in BACKENDS {
            world.mounted(&["--mount", backend], LOOK).ends(0).says(TOKEN);
        }
    });
}

#[test]
fn tokens_elsewhere_in_a_git_directory_are_not_in_the_mount() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "a\n")]);
        world.outside(&format!(
            "for name in gone libs/bar; do git init -q --bare .git/modules/$name; \
             git -C .git/modules/$name config http.extraheader {TOKEN}; done\n\
             git worktree add -q ../linked; git config extensions.worktreeConfig true\n\
             git -C ../linked config --worktree http.extraheader {TOKEN}\n\
             git config include.path more/included; mkdir .git/more\n\
             git config -f .git/more/included http.extraheader {TOKEN}; git config -f .git/more/included user.nick kept\n\
             git config credential.helper 'store --file=.git/credentials'\n\
             echo https://u:{TOKEN}@h.example > .git/credentials\n\
             git config http.cookieFile .git/cookies; echo {TOKEN} > .git/cookies\n\
             git config http.https://h.example.sslKey \"$PWD/.git/key\"; echo {TOKEN} > .git/key\n\
             printf '[http]\\n# note \\\\\\n extraHeader = {TOKEN}\\n[core][http] extraHeader = {TOKEN}\\n' >> .git/config
             mkdir -p .git/remotes .git/branches .git/modules/gone/remotes
             printf 'URL: https://u:{TOKEN}@h.example/x\\nPull: refs/heads/main:refs/heads/o\\n' > .git/remotes/old
             cp .git/remotes/old .git/modules/gone/remotes/; echo 'https://u:{TOKEN}@h.example/x#main' > .git/branches/older"
        ));
        let before = world.outside(&format!("grep -rl {TOKEN} .git | sort"));
        assert_eq!(before.lines().count(), 11, "{before}");
        for backend in BACKENDS {
            let look = format!(
                "grep -r {TOKEN} .git || true; git remote get-url old; git config user.nick; git status --porcelain; echo {backend} > a.txt"
            );
            let did = world.mounted(&["--mount", backend], &look);
            assert!(!did.stdout.contains(TOKEN), "{backend}: {did:#?}");
            did.says("kept").says("https://h.example/x");
            did.ends(0);
            assert_eq!(world.outside("cat a.txt; git checkout -q a.txt"), format!("{backend}\n"));
            assert_eq!(world.outside(&format!("grep -rl {TOKEN} .git | sort")), before, "{backend}");
        }
    });
}

/// What `git pull https://u:token@...` leaves in every place where git keeps a reflog.
#[test]
fn tokens_in_reflogs_are_not_in_the_mount() {
    for_each_identity(|world| {
        for format in ["files", "reftable"] {
            world.outside("rm -rf .git ../linked; mkdir -p inner; rm -rf inner/.git");
            world.outside(&format!(
                "git init -q -b main --ref-format={format} .; echo a > a.txt; git add a.txt; git commit -qm base
                 export GIT_REFLOG_ACTION='pull -q https://u:{TOKEN}@h.example/x.git main'
                 git commit -q --allow-empty -m pulled; git worktree add -q ../linked 2> /dev/null
                 git -C ../linked commit -q --allow-empty -m linked
                 git clone -q --ref-format={format} . .git/modules/deep/sub; git -C .git/modules/deep/sub commit -q --allow-empty -m sub
                 git init -q -b main --ref-format={format} inner; git -C inner commit -q --allow-empty -m inner
                 echo \"0 not-for-merge branch 'x' of https://u:{TOKEN}@h.example/x\" > .git/FETCH_HEAD
                 mkdir -p .git/svn; echo 'url = https://u:{TOKEN}@h.example/x' > .git/svn/.metadata"
            ));
            let raw = "for dir in . ../linked inner .git/modules/deep/sub; do git -C $dir reflog --all; done";
            let before = world.outside(&format!("{raw}; grep -rl {TOKEN} .git inner | sort"));
            assert!(before.matches(TOKEN).count() >= 6, "{format}: {before}");
            let refs = world.outside("git for-each-ref; git stash list; git fsck 2>&1");
            for backend in BACKENDS {
                let look = format!(
                    "for dir in . inner .git/modules/deep/sub; do git -C $dir reflog --all || true; done
                     grep -ra {TOKEN} . || true; git status --porcelain; git for-each-ref; git fsck
                     git stash list; echo {backend} > a.txt; git stash -q; git stash pop -q; git reflog"
                );
                let did = world.mounted(&["--mount", backend], &look).ends(0);
                assert!(!did.stdout.contains(TOKEN), "{format} {backend}: {did:#?}");
                // The rest is there.
                did.says("h.example/x.git main").says("pulled").says("inner");
                assert!(!did.stderr.contains("not applied"), "{format} {backend}: {did:#?}");
                assert_eq!(world.outside("cat a.txt; git checkout -q a.txt"), format!("{backend}\n"));
                let mut linked =
                    world.aw_command(["mount", "--mount", backend, "--", "git", "reflog", "--all"]);
                let linked = linked.current_dir(world.path("linked")).output().unwrap();
                let linked = String::from_utf8_lossy(&linked.stdout);
                // A copy of a linked worktree has no refs of that format.
                let is_shown = linked.contains("h.example") || (format, backend) == ("reftable", "copy");
                assert!(is_shown && !linked.contains(TOKEN), "{format} {backend}: {linked}");
                let after = world.outside(&format!("{raw}; grep -rl {TOKEN} .git inner | sort"));
                assert_eq!(after, before, "{format} {backend}");
                assert_eq!(world.outside("git for-each-ref; git stash list; git fsck 2>&1"), refs);
            }
        }
    });
}

#[test]
fn tokens_of_bare_repositories_in_the_project_are_hidden() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "a\n"), ("config", "url = https://u:p@h.example\n")]);
        world.outside(&format!(
            "git clone -q --bare . mirror.git; git -C mirror.git remote set-url origin https://u:{TOKEN}@h.example/x
             mkdir -p deep/plain.git/remotes; git init -q --bare deep/plain.git
             echo 'URL: https://u:{TOKEN}@h.example/x' > deep/plain.git/remotes/old
             git init -q --separate-git-dir apart.git apart; git -C apart config http.extraheader {TOKEN}
             git -C apart commit -q --allow-empty -m x; git -C apart config user.nick kept
             mkdir -p mirror.git/logs/refs/heads; echo 'pull https://u:{TOKEN}@h.example/x' | tee mirror.git/logs/refs/heads/main > mirror.git/FETCH_HEAD"
        ));
        let before = world.outside(&format!("grep -rl {TOKEN} . | sort"));
        assert_eq!(before.lines().count(), 5, "{before}");
        for backend in BACKENDS {
            let look = format!(
                "grep -r {TOKEN} . || true; cat config; git -C mirror.git log --format=%s; git -C apart config user.nick
                 ls deep/plain.git/config; echo {backend} > a.txt"
            );
            let did = world.mounted(&["--mount", backend], &look).ends(0);
            assert!(!did.stdout.contains(TOKEN), "{backend}: {did:#?}");
            // The rest is there.
            did.says("url = https://u:p@h.example").says("base").says("kept").says("deep/plain.git/config");
            assert!(!did.stderr.contains("mirror.git") && !did.stderr.contains("plain.git"), "{did:#?}");
            assert_eq!(world.outside("cat a.txt; git checkout -q a.txt"), format!("{backend}\n"));
            let attack = "mkdir -p mirror.git; printf '[core]\\n\\tpager = evil\\n' > mirror.git/config; echo x > deep/plain.git/remotes/old; echo 2 > a.txt";
            world.mounted(&["--mount", backend], attack).ends(0).says("not applied");
            assert_eq!(world.outside("cat a.txt; git checkout -q a.txt"), "2\n");
            assert_eq!(world.outside(&format!("grep -rl {TOKEN} . | sort")), before, "{backend}");
        }
    });
}

#[test]
fn a_setting_that_the_agent_adds_beside_hidden_tokens_is_still_told() {
    for_each_identity(|world| {
        let before = ci_checkout(&world);
        for backend in BACKENDS {
            let did =
                world.mounted(&["--mount", backend], "git config core.fsmonitor ./evil; echo x >> a.txt");
            did.ends(0).says("config");
            assert_eq!(fs::read_to_string(world.project().join(".git/config")).unwrap(), before, "{backend}");
        }
    });
}

const VALUE: &str = "sk-live/9f+the=value";

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            text.push(char::from(LETTERS[bits >> (18 - 6 * place) & 63]));
        }
    }
    text
}

/// The value in disguise, and a part of it that must not be written down.
fn disguises() -> Vec<String> {
    let escaped = |value: &str| value.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
    let hex = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    vec![
        VALUE.to_owned(),
        format!("\\u0073{}", &VALUE[1..]),
        format!("\\\\u0073{}", &VALUE[1..]),
        escaped(VALUE),
        VALUE.replace('/', "\\/"),
        VALUE.replace('/', "\\\\/"),
        VALUE.replace('/', "%2F").replace('+', "%2b").replace('=', "%3D"),
        hex.to_uppercase(),
        hex,
        base64(VALUE.as_bytes()),
        base64(format!("user:{VALUE}").as_bytes()),
    ]
}

fn world_that_says(texts: &[String]) -> World {
    let world = World::with_harness(
        Identity::Own,
        "begins; cat \"$record/said\"; cp \"$record/said\" said.txt; answers done",
    );
    world.persona(&with(weaver(), &json!({"env": {"SERVICE": "$MY_TOKEN"}})));
    fs::write(world.path("home/.agentworkforce/workforce/personas/weaver.md"), "x").unwrap();
    fs::create_dir_all(world.path("record")).unwrap();
    let lines: Vec<String> = texts
        .iter()
        .map(|text| format!("{{\"type\":\"system\",\"subtype\":\"note\",\"text\":\"{text}\"}}\n"))
        .collect();
    fs::write(world.path("record/said"), lines.concat()).unwrap();
    world.give();
    world
}

fn run(world: &World, value: &str, flags: &[&str]) -> Did {
    let mut all = vec!["weaver", "-p", "do it", "--json", "--apply", "never", "-vv"];
    all.extend(flags);
    Did::of(&world.agent_command(&all).env("MY_TOKEN", value).output().unwrap())
}

/// Our own files of a session with this text.
fn logs_with(dir: &Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !["upper", "mount", "work", "git"].contains(&name.as_str()) {
            logs_with(&path, text, found);
        } else if path.is_file() && String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_secret_in_disguise_is_redacted_and_told() {
    for disguise in disguises() {
        let world = world_that_says(std::slice::from_ref(&disguise));
        let did = run(&world, VALUE, &[]);
        let report: Value = did.json();
        let mut found = Vec::new();
        logs_with(&world.sessions(), &disguise, &mut found);
        assert!(found.is_empty(), "{disguise} is in {found:#?}");
        assert!(!did.stdout.contains(&disguise) && !did.stderr.contains(&disguise), "{disguise}: {did:#?}");
        let leaks = report["leaks"].to_string();
        assert!(leaks.contains("MY_TOKEN") && leaks.contains("said.txt"), "{disguise}: {report:#}");
    }
}

#[test]
fn short_secrets_count_where_the_config_says_so() {
    let world = world_that_says(&["hunter2!".to_owned()]);
    let report = run(&world, "hunter2!", &[]).json();
    assert!(!report["leaks"].to_string().contains("MY_TOKEN"), "values under 12 characters: {report:#}");
    world.aw(["config", "set", "secrets.minLength", "8"]).ends(0);
    let did = run(&world, "hunter2!", &[]);
    assert!(did.json()["leaks"].to_string().contains("MY_TOKEN"), "{did:#?}");
    assert!(!did.stdout.contains("hunter2!"), "{did:#?}");
}

#[test]
fn a_secret_that_supplies_an_input_is_redacted_in_the_session() {
    const VALUE: &str = "input-secret-0123456789";
    let world = World::with_harness(Identity::Own, "begins; answers done");
    world.persona(&json!({
        "id": "weaver", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "Use $T now.",
        "inputs": {"T": {"env": "AWS_SECRET_ACCESS_KEY"}},
    }));
    let mut command = world.agent_command(&["weaver", "-p", "t", "--json", "--keep"]);
    command.env("AWS_SECRET_ACCESS_KEY", VALUE);
    let did = Did::of(&command.output().unwrap()).ends(0);
    assert!(!did.stdout.contains(VALUE), "{did:#?}");
    let found = world.outside(&format!("grep -rlF {VALUE} '{}' || true", world.sessions().display()));
    assert_eq!(found, "", "the value is in files of the session");
    let prompt = world.outside(&format!("cat '{}'/*/system-prompt.md", world.sessions().display()));
    assert!(prompt.contains("[redacted:AWS_SECRET_ACCESS_KEY]"), "{prompt}");
}
