//! Packs that mean harm, and packs that are broken: all of them are refused before a byte is written.

use crate::support::packs::{Entry, PERSONAS, git, gzip, installed, program, tar, two, with_sidecar};
use crate::support::{TestEnv, flat, with};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

/// A project with a persona and a lock of its own, and a secret that no pack may reach.
fn victim() -> TestEnv {
    let env = TestEnv::new();
    env.project_persona(&flat("own", "mine"));
    env.write("outside/secret.md", "secret");
    env.write("good/personas/good.json", flat("good", "x").to_string());
    env.run(["install", "../good"]).succeeds();
    env
}

/// Installs it in every way there is; it fails with this reason, and nothing has changed anywhere.
#[track_caller]
fn refused(env: &TestEnv, source: &str, says: &str) {
    let before = env.everything();
    for more in [&["--overwrite"][..], &["--dry-run"], &["--to", "user"], &[]] {
        let mut args = vec!["install", source];
        args.extend(more);
        let ran = env.run(&args);
        assert_eq!(ran.code, 1, "{ran:#?}");
        assert!(ran.stderr.contains(says), "{says:?} is not in {ran:#?}");
        assert_eq!(ran.stdout, "", "{ran:#?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    }
    assert_eq!(env.everything(), before, "something was written");
}

/// A persona file of the pack.
fn persona(env: &TestEnv, value: &Value) {
    env.write("evil/personas/p.json", value.to_string());
}

/// A pack of one persona with more keys.
#[track_caller]
fn refused_persona(more: &Value, says: &str) {
    let env = victim();
    persona(&env, &with(flat("p", "x"), more));
    env.write("evil/personas/ok.md", "ok");
    refused(&env, "../evil", says);
}

#[test]
fn references_that_leave_the_pack_or_lead_nowhere() {
    for path in [
        "../../outside/secret.md",
        "/etc/hosts.md",
        "a/../../x.md",
        "C:\\x.md",
        "\\\\srv\\x.md",
        "a\\..\\x.md",
        "x\u{0}.md",
        "",
        "ok.txt",
    ] {
        for key in ["claudeMd", "agentsMd"] {
            refused_persona(&json!({key: path}), key);
        }
    }
    refused_persona(
        &json!({"claudeMd": "../../outside/secret.md"}),
        "must not leave its directory with `..`",
    );
    refused_persona(&json!({"claudeMd": "missing.md"}), "there is no `personas/missing.md` in the pack");
    refused_persona(&json!({"tiers": {"best": {"agentsMd": "../x.md"}}}), "tiers.best.agentsMd");
    refused_persona(&json!({"tiers": {"best": {"agentsMd": "x.md"}}}), "there is no `personas/x.md`");
}

#[test]
fn skills_that_leave_the_pack_or_lead_nowhere() {
    for (source, says) in [
        ("../../outside", "leaves the pack with `..`"),
        ("/etc", "is an absolute path"),
        ("~/.ssh", "not in a home directory"),
        ("./none", "there is no `none` in the pack"),
        ("none.md", "there is no `none.md` in the pack"),
        ("./personas", "has no SKILL.md"),
        (".", "names the whole directory, not a skill"),
        ("./repository.git", "there is no `repository.git`"),
        ("./personas/p.json", "neither a directory with SKILL.md nor a `.md`"),
    ] {
        refused_persona(&json!({"skills": [{"id": "s", "source": source}]}), says);
    }
}

#[test]
fn ids_that_are_paths_or_missing_or_taken() {
    for id in [
        "../evil",
        "a/b",
        "/etc/x",
        "a b",
        "..",
        ".git",
        "",
        "a\u{0}b",
        "a\\b",
        "x.lock",
        "-rf",
        "é",
        "p__assets",
    ] {
        let env = victim();
        persona(&env, &with(flat("p", "x"), &json!({"id": id})));
        refused(&env, "../evil", "personas/p.json:1:");
    }
    for (value, says) in [
        (json!({"id": 3}), "must be text"),
        (json!({"name": "x"}), "is missing"),
        (json!([]), "must be a JSON object"),
    ] {
        let env = victim();
        persona(&env, &value);
        refused(&env, "../evil", says);
    }
    for (twin, says) in [("p", "has the same id as personas/p.json"), ("P", "differ only in case")] {
        let env = victim();
        persona(&env, &flat("p", "x"));
        env.write("evil/personas/sub/q.json", flat(twin, "y").to_string());
        refused(&env, "../evil", says);
    }
}

#[test]
fn files_that_are_no_personas() {
    for (bytes, says) in [
        (&b"{"[..], "invalid JSON"),
        (b"{\"id\": \"p\", \"id\": \"q\"}", "duplicate key `id`"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"", "invalid JSON"),
        (b"{\"id\": \"p\", \"harness\": 7}", "harness: must be text"),
        (b"{\"id\": \"p\", \"permissions\": {\"mode\": \"root\"}}", "is not one of"),
    ] {
        let env = victim();
        env.write("evil/personas/p.json", bytes);
        refused(&env, "../evil", says);
    }
    let env = victim();
    env.write("evil/personas/p.json", format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    refused(&env, "../evil", "invalid JSON");
    let env = victim();
    env.write("evil/personas/p.json", vec![b' '; 9 * 1024 * 1024]);
    refused(&env, "../evil", "is too large");
    let env = victim();
    persona(&env, &with_sidecar("p"));
    env.write("evil/personas/p.md", b"\xff\xfe");
    refused(&env, "../evil", "is not UTF-8 text");
}

#[test]
fn manifests_that_lie() {
    for (manifest, says) in [
        (json!({"agentworkforce": {"personas": "../outside"}}).to_string(), "leaves the pack with `..`"),
        (json!({"agentworkforce": {"personas": "/etc"}}).to_string(), "is an absolute path"),
        (json!({"agentworkforce": {"personas": 3}}).to_string(), "must be text"),
        (json!({"agentworkforce": {"personas": "none"}}).to_string(), "there is no directory `none`"),
        (json!({"agentworkforce": {"personas": "empty"}}).to_string(), "no persona files"),
        ("{".to_owned(), "invalid JSON"),
        ("[]".to_owned(), "must be a JSON object"),
    ] {
        let env = victim();
        persona(&env, &flat("p", "x"));
        env.write("evil/empty/x.md", "x");
        env.write("evil/package.json", manifest);
        refused(&env, "../evil", says);
    }
    let env = victim();
    std::fs::create_dir(env.root().join("void")).unwrap();
    refused(&env, "../void", "no persona files");
}

#[test]
fn roles_that_leave_the_pack() {
    for (role, says) in [
        (json!({"label": "L", "charterFile": "../../outside/secret.md"}), "charterFile"),
        (json!({"label": "L", "charterFile": "none.md"}), "there is no `roles/none.md`"),
        (json!({"label": 3}), "label: must be text"),
    ] {
        let env = victim();
        persona(&env, &with(flat("p", "x"), &json!({"role": "keeper"})));
        env.write("evil/roles/keeper.json", role.to_string());
        refused(&env, "../evil", says);
    }
}

#[test]
fn links_that_leave_the_pack() {
    for (place, target) in [
        ("personas/p.md", "../../outside/secret.md"),
        ("personas/p.md", "/etc/passwd"),
        ("unreferenced", "../outside"),
        ("personas/sub", "../../outside"),
        ("deep/er/link", "../../../outside/secret.md"),
    ] {
        let env = victim();
        persona(&env, &with_sidecar("p"));
        if place != "personas/p.md" {
            env.write("evil/personas/p.md", "x");
        }
        let link = env.root().join("evil").join(place);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
        refused(&env, "../evil", "leads out of the pack");
    }
    let env = victim();
    persona(&env, &with_sidecar("p"));
    symlink("q.md", env.root().join("evil/personas/p.md")).unwrap();
    symlink("p.md", env.root().join("evil/personas/q.md")).unwrap();
    refused(&env, "../evil", "there is no `personas/p.md`");
}

#[test]
fn things_that_are_no_files() {
    let env = victim();
    persona(&env, &with_sidecar("p"));
    let fifo = env.root().join("evil/personas/p.md");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let before = std::time::Instant::now();
    let ran = env.run(["install", "../evil"]);
    ran.fails(1, "is neither a file nor a directory");
    assert!(before.elapsed().as_secs() < 30, "nobody waits for a fifo");
    std::fs::remove_file(&fifo).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(env.root().join("evil/socket")).unwrap();
    env.run(["install", "../evil"]).fails(1, "is neither a file nor a directory");
    env.run(["install", "/dev/zero"]).fails(1, "neither a file nor a directory");
}

#[test]
fn packs_that_are_too_large() {
    let env = victim();
    persona(&env, &flat("p", "x"));
    let big = std::fs::File::create(env.root().join("evil/big")).unwrap();
    big.set_len(51 * 1024 * 1024).unwrap();
    env.run(["install", "../evil"]).fails(1, "it is larger than 50 MB");
    std::fs::remove_file(env.root().join("evil/big")).unwrap();
    std::fs::create_dir(env.root().join("evil/many")).unwrap();
    for number in 0..10_000 {
        std::fs::write(env.root().join("evil/many").join(number.to_string()), "").unwrap();
    }
    env.run(["install", "../evil"]).fails(1, "it has more than 10000 files");
    std::fs::remove_dir_all(env.root().join("evil/many")).unwrap();
    env.write(format!("evil/{}x", "d/".repeat(40)), "");
    refused(&env, "../evil", "directories deep");
}

/// An archive with a good persona and these entries.
fn archive(env: &TestEnv, entries: Vec<Entry<'_>>) {
    let persona = with_sidecar("p").to_string();
    let mut all = vec![
        Entry::file("package/package.json", "{\"name\": \"evil\"}"),
        Entry::file("package/personas/p.json", &persona),
        Entry::file("package/personas/p.md", "x"),
    ];
    all.extend(entries);
    env.write("evil.tgz", gzip(&tar(&all)));
}

#[test]
fn a_good_archive_is_taken_so_the_others_fail_for_their_own_reason() {
    let env = victim();
    archive(&env, vec![Entry::link("package/in.md", b'2', "personas/p.md")]);
    env.run(["install", "../evil.tgz"]).succeeds();
    assert!(installed(&env).contains(&"p__assets/p.md".to_owned()));
}

#[test]
fn archives_whose_entries_escape() {
    let cases: Vec<(Vec<Entry<'_>>, &str)> = vec![
        (vec![Entry::file("../evil.json", "x")], "leaves the pack with `..`"),
        (vec![Entry::file("package/../../evil.json", "x")], "leaves the pack with `..`"),
        (vec![Entry::file("/tmp/evil.json", "x")], "is an absolute path"),
        (vec![Entry::file("package\\..\\..\\evil", "x")], "backslash"),
        (vec![Entry::file("C:/evil", "x")], "is an absolute path"),
        (vec![Entry::file("package/a\nb", "x")], "control character"),
        (vec![Entry::link("package/l", b'2', "../../outside")], "leads out of the pack"),
        (vec![Entry::link("package/l", b'2', "/etc")], "leads out of the pack"),
        // Inside of the archive, but not of the pack.
        (vec![Entry::link("package/l", b'2', "../x")], "leads out of the pack"),
        (vec![Entry::link("package/l", b'1', "../outside/secret.md")], "leaves the pack with `..`"),
        (vec![Entry::link("package/l", b'1', "/etc/passwd")], "is an absolute path"),
        (
            vec![Entry::link("package/l", b'2', "personas"), Entry::file("package/l/x", "x")],
            "is both a file or link and a directory",
        ),
        (vec![Entry::file("package/personas/p.md/x", "x")], "is both a file or link and a directory"),
        (vec![Entry::file("package/personas/p.json", "{}")], "occurs twice"),
        (vec![Entry::file("package/./personas//p.json", "{}")], "occurs twice"),
        (vec![Entry::link("package/dev", b'3', "")], "is not a file, directory or link"),
        (vec![Entry::link("package/dev", b'4', "")], "is not a file, directory or link"),
        (vec![Entry::link("package/fifo", b'6', "")], "is not a file, directory or link"),
        (vec![Entry::link("../dir", b'5', "")], "leaves the pack with `..`"),
    ];
    for (entries, says) in cases {
        let env = victim();
        archive(&env, entries);
        refused(&env, "../evil.tgz", says);
    }
}

#[test]
fn archives_that_are_bombs() {
    let env = victim();
    // A gigabyte of zeros in a megabyte.
    let zeros = vec![0_u8; 200 * 1024 * 1024];
    archive(&env, vec![Entry { bytes: &zeros, ..Entry::file("package/zeros", "") }]);
    env.run(["install", "../evil.tgz"]).fails(1, "it is larger than 50 MB");
    // A name of 200 MB, which a careless reader keeps in memory.
    archive(
        &env,
        vec![Entry { kind: b'L', bytes: &zeros, ..Entry::file("././@LongLink", "") }, Entry::file("x", "")],
    );
    env.run(["install", "../evil.tgz"]).fails(1, "it unpacks to more than");
    // Zeros after the end of the archive.
    let mut bytes = tar(&[Entry::file("package/personas/p.json", "{}")]);
    bytes.extend_from_slice(&zeros);
    env.write("evil.tgz", gzip(&bytes));
    env.run(["install", "../evil.tgz"]).fails(1, "it unpacks to more than");
    drop(zeros);
    let names: Vec<String> = (0..10_001).map(|number| format!("package/{number}")).collect();
    archive(&env, names.iter().map(|name| Entry::file(name, "")).collect());
    env.run(["install", "../evil.tgz"]).fails(1, "it has more than 10000 files");
    let names: Vec<String> = (0..20_010).map(|number| format!("package/{number}/")).collect();
    archive(&env, names.iter().map(|name| Entry::link(name, b'5', "")).collect());
    env.run(["install", "../evil.tgz"]).fails(1, "it has more than 10000 files");
    // It says that it is larger than it is.
    archive(&env, vec![Entry { size: Some(8_000_000_000), ..Entry::file("package/liar", "x") }]);
    refused(&env, "../evil.tgz", "it is larger than 50 MB");
    archive(&env, vec![Entry { size: Some(40_000_000), ..Entry::file("package/liar", "x") }]);
    refused(&env, "../evil.tgz", "is not installed");
}

#[test]
fn archives_that_are_damaged_or_none() {
    let env = victim();
    archive(&env, Vec::new());
    let good = std::fs::read(env.root().join("evil.tgz")).unwrap();
    let mut flipped = good.clone();
    // The checksum, eight bytes before the end.
    let at = flipped.len() - 8;
    flipped[at] ^= 1;
    for bytes in
        [&good[..good.len() / 2], &good[..20], &flipped, b"", b"not an archive", &[0; 4096], &gzip(b"text")]
    {
        env.write("evil.tgz", bytes);
        refused(&env, "../evil.tgz", "evil.tgz is not installed");
    }
}

#[test]
fn repositories_that_mean_harm() {
    let env = victim();
    env.write("home/.gitconfig", "[safe]\n directory = *\n");
    let work = two(&env, "work");
    symlink("../../outside/secret.md", work.join("personas/link.md")).unwrap();
    git(&work, &["init", "--quiet"]);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "--quiet", "-m", "x"]);
    refused(&env, &format!("file://{}", work.display()), "leads out of the pack");
    for (source, code) in [
        ("ext::sh -c touch% ran", 2),
        ("-x", 2),
        ("--upload-pack=touch ran", 2),
        ("git+ext::sh -c 'touch ran'", 1),
        ("fd::7", 2),
    ] {
        let before = env.everything();
        let ran = env.run(["install", "--", source]);
        assert_eq!(ran.code, code, "{ran:#?}");
        assert_eq!(env.everything(), before, "{source}");
    }
}

#[test]
fn registries_that_mean_harm() {
    let dest = "while [ $# -gt 1 ]; do if [ \"$1\" = --pack-destination ]; then dest=$2; fi; shift; done\n";
    for (script, says) in [
        ("exit 0", "wrote 0 files"),
        ("echo x > $dest/a.tgz; echo x > $dest/b.tgz", "wrote 2 files"),
        ("echo x > $dest/a.tgz", "npm did not fetch a pack"),
        ("mkdir $dest/a.tgz", "neither a file nor a directory"),
        ("ln -s \"$HOME/../outside\" $dest/a.tgz", "is not installed"),
        ("cp \"$HOME/../evil.tgz\" $dest/", "leaves the pack with `..`"),
        ("echo 'npm error code E404' >&2; exit 1", "`npm pack` failed: code E404"),
        ("yes; sleep 300", "printed more than"),
    ] {
        let mut env = victim();
        archive(&env, vec![Entry::file("../evil.json", "x")]);
        program(&mut env, "npm", &format!("{dest}{script}\n"));
        let before = env.everything();
        env.run(["install", "@team/evil"]).fails(1, says);
        assert_eq!(env.everything(), before);
    }
}

#[test]
fn a_pack_that_changes_while_it_is_read_never_gets_a_file_from_outside() {
    let env = victim();
    persona(&env, &with_sidecar("p"));
    let file = env.write("evil/personas/p.md", "good");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (real, link) = (env.root().join("real"), env.root().join("link"));
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                symlink("../../outside/secret.md", &link).unwrap();
                std::fs::rename(&link, &file).unwrap();
                std::fs::write(&real, "good").unwrap();
                std::fs::rename(&real, &file).unwrap();
            }
        });
        let copy = env.root().join(PERSONAS).join("p__assets/p.md");
        let results: Vec<_> = (0..30)
            .map(|_| {
                let ran = env.run(["install", "../evil", "--overwrite"]);
                (ran, std::fs::read_to_string(&copy).unwrap_or_default())
            })
            .collect();
        // Judged afterwards: a failure must not leave the other thread running.
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        for (ran, text) in results {
            let said = ["leads out of the pack", "changed while it was read"];
            let is_refused = ran.code == 1 && said.iter().any(|said| ran.stderr.contains(said));
            assert!(ran.code == 0 || is_refused, "{ran:#?}");
            assert!(text.is_empty() || text == "good", "{text}");
        }
    });
}

/// What lies in the target may have come with somebody else's repository.
#[test]
fn targets_that_lead_elsewhere_are_not_followed() {
    let dir = |env: &TestEnv| env.root().join(PERSONAS);
    let outside = |env: &TestEnv| env.read("outside/secret.md");
    let env = victim();
    persona(&env, &with_sidecar("p"));
    env.write("evil/personas/p.md", "x");
    env.write("outside/p.md", "mine");
    symlink(env.root().join("outside"), dir(&env).join("p__assets")).unwrap();
    refused_target(&env);
    assert_eq!((env.read("outside/p.md"), outside(&env)), ("mine".into(), "secret".into()));

    let env = victim();
    persona(&env, &with_sidecar("p"));
    env.write("evil/personas/p.md", "x");
    symlink(env.root().join("outside/secret.md"), dir(&env).join("p.json")).unwrap();
    refused_target(&env);
    assert_eq!(outside(&env), "secret");

    let env = victim();
    persona(&env, &with_sidecar("p"));
    env.write("evil/personas/p.md", "x");
    std::fs::create_dir(dir(&env).join("p.json")).unwrap();
    refused_target(&env);
}

#[track_caller]
fn refused_target(env: &TestEnv) {
    let before = env.everything();
    for more in [&[][..], &["--overwrite"]] {
        let mut args = vec!["install", "../evil"];
        args.extend(more);
        env.run(&args).fails(1, "conflict p: ");
        assert_eq!(env.everything(), before);
    }
}

#[test]
fn locks_that_lead_elsewhere_are_not_followed() {
    let files = [
        json!({"../../../../outside/secret.md": "x"}),
        json!({"/etc/passwd": "x"}),
        json!({"p__assets/../../../x": "x"}),
        json!({"own.json": "x"}),
        json!({".git/config": "x"}),
    ];
    for files in files {
        let env = victim();
        let lock =
            json!({"schemaVersion": 1, "packs": {"evil": {"source": "./x", "personas": {"p": files}}}});
        env.write(format!("{PERSONAS}/agentworkforce.lock"), lock.to_string());
        let before = env.everything();
        for args in
            [&["uninstall", "evil"][..], &["update"], &["install", "../good"], &["install", "--locked"]]
        {
            env.run(args).fails(2, "agentworkforce.lock cannot be read");
        }
        assert_eq!(env.everything(), before);
    }
    for text in ["", "{", "[]", "{\"schemaVersion\": 2}", "{\"schemaVersion\": 1, \"packs\": {\"a\": 3}}"] {
        let env = victim();
        env.write(format!("{PERSONAS}/agentworkforce.lock"), text);
        let before = env.everything();
        env.run(["install", "../good"]).fails(2, "agentworkforce.lock cannot be read");
        assert_eq!(env.everything(), before);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told() {
    let env = TestEnv::new();
    env.write("good/personas/good.json", flat("good", "x").to_string());
    env.write(PERSONAS, "a file");
    let ran = env.run(["install", "../good"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert_eq!(env.read(PERSONAS), "a file");
    assert!(Path::new(&env.root().join("good")).is_dir());
}
