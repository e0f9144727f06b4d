//! Small things that an agent leaves to stop the runner: pipes, tree bombs, very deep directories, very many branches.

use crate::support::harness::weaver;
use crate::support::mount::{World, for_each_identity, identities};
use crate::support::sessions::{BACKENDS, Did};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs to its end, which must come within these seconds, with as many descriptors as most systems give.
#[track_caller]
fn within(seconds: u64, mut command: Command, what: &str) -> Did {
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let stdout = child.stdout.take().unwrap();
    let stderr = child.stderr.take().unwrap();
    let read = |from: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = std::io::Read::read_to_end(&mut { from }, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > Duration::from_secs(seconds) {
            // Everything that it started as well: it is the leader of nothing.
            child.kill().unwrap();
            panic!("{what}: {pid} does not end within {seconds} s");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Did { code: status.code().unwrap_or(-1), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// The built binary under a limit of 1,024 descriptors.
fn limited(world: &World, args: &[&str]) -> Command {
    let mut command = world.program("sh");
    command.args(["-c", "ulimit -n 1024; exec \"$@\"", "sh", crate::support::mount::BINARY]).args(args);
    command.stdin(Stdio::null());
    command
}

/// Makes directories in directories without ever naming the whole path.
const DEEP: &str = r#"
deep() { python3 -c '
import os, sys
for number in range(int(sys.argv[1])):
    os.mkdir("d")
    if number % 10 == 0: os.mkdir("beside")
    os.chdir("d")
open("end", "w").write("x")
' "$1"; }
"#;

#[test]
fn very_deep_directories_are_reported_and_do_not_stop_anything() {
    for who in identities() {
        for backend in BACKENDS {
            for depth in [900, 5_000, 18_000] {
                let world = World::new(who);
                world.repository(&[("a.txt", "one\n")]);
                let script = format!("{DEEP} mkdir bottom; (cd bottom; deep {depth}); echo two > a.txt");
                let what = format!("{backend} {depth}");
                let args = ["mount", "--mount", backend, "--", "sh", "-ec", &script];
                let did = within(60, limited(&world, &args), &what);
                assert_eq!(did.code, 0, "{what}: {did:#?}");
                did.says("too deep");
                assert_eq!(world.outside("cat a.txt"), "two\n", "{what}");
                let id = world.only_session();
                within(60, limited(&world, &["sessions", "diff", &id]), &what).ends(0);
                within(60, limited(&world, &["sessions", "list"]), &what).ends(0);
                let args = ["sessions", "prune", "--older-than", "0s", "--force"];
                within(60, limited(&world, &args), &what).ends(0);
                assert_eq!(world.listed().len(), 0, "{what}");
            }
        }
    }
}

#[test]
fn a_deep_session_can_be_discarded() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = format!("{DEEP} mkdir bottom; (cd bottom; deep 5000)");
            let args = ["mount", "--mount", backend, "--apply", "never", "--", "sh", "-ec", &script];
            within(60, limited(&world, &args), backend).ends(0);
            let held = world.listed().into_iter().find(|session| session["state"] == "held").unwrap();
            within(60, limited(&world, &["sessions", "discard", held["id"].as_str().unwrap()]), backend)
                .ends(0);
        }
    });
}

#[test]
fn a_project_that_is_deep_already_opens_with_few_descriptors() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside(&format!("{DEEP} mkdir bottom; (cd bottom; deep 2000)"));
        for backend in BACKENDS {
            let args = ["mount", "--mount", backend, "--", "sh", "-ec", "echo two > a.txt"];
            let did = within(60, limited(&world, &args), backend).ends(0);
            did.says("cannot be read and is hidden");
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
    });
}

#[test]
fn a_pipe_in_place_of_a_git_object_is_not_waited_for() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = "echo two > a.txt; git checkout -qb agents; git commit -qam two; id=$(git rev-parse HEAD)
                object=.git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-); rm -f $object; mkfifo $object";
            let args = ["mount", "--mount", backend, "--json", "--", "sh", "-ec", script];
            let did = within(30, limited(&world, &args), backend).ends(0);
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
            did.says("is not a file");
        }
    });
}

#[test]
fn a_tree_bomb_is_held_quickly() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = "echo two > a.txt; blob=$(echo x | git hash-object -w --stdin)
                tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %s\\tf%s\\n' $blob $i; done | git mktree)
                for level in 1 2 3 4 5 6; do
                tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\td%s\\n' $tree $i; done | git mktree); done
                git update-ref refs/heads/bomb $(git commit-tree -m bomb $tree)";
            let args = ["mount", "--mount", backend, "--", "sh", "-ec", script];
            let did = within(45, limited(&world, &args), backend).ends(0);
            did.says("commits on bomb are held");
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
    });
}

/// A pack of some kilobytes in which a delta unfolds to 320 MB, and a tree of 100 MB that is a hundred kilobytes.
const UNFOLDS: &str = r#"
unfolds() { python3 -c '
import hashlib, os, struct, sys, zlib
def write(name, content):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    open(name, "wb").write(content)
def number(kind, size):
    found = [kind << 4 | size & 15]; size >>= 4
    while size: found[-1] |= 128; found.append(size & 127); size >>= 7
    return bytes(found)
def plain(size):
    found = b""
    while size > 127: found += bytes([size & 127 | 128]); size >>= 7
    return found + bytes([size])
if sys.argv[1] == "tree":
    text = b"tree 104857600\0" + bytes(100 << 20)
    name = hashlib.sha1(text).hexdigest()
    write(f".git/objects/{name[:2]}/{name[2:]}", zlib.compress(text, 1))
else:
    base = bytes(0xffffff)
    first = number(3, len(base)) + zlib.compress(base)
    delta = plain(len(base)) + plain(20 * len(base)) + b"\xf0\xff\xff\xff" * 20
    back, far = len(first), []
    far = [back & 127]; back >>= 7
    while back: back -= 1; far.insert(0, 128 | back & 127); back >>= 7
    pack = b"PACK" + struct.pack(">II", 2, 2) + first + number(6, len(delta)) + bytes(far) + zlib.compress(delta)
    write(".git/objects/pack/pack-" + "ab" * 20 + ".pack", pack + hashlib.sha1(pack).digest())
    name = hashlib.sha1(b"blob %d\0" % (20 * len(base)) + base * 20).hexdigest()
print(name)
' "$1"; }
"#;

#[test]
fn objects_that_unfold_to_very_much_are_not_held_in_memory() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for (commit, why) in [
            (
                "tree=$(printf '100644 blob %s\\tbig\\n' $(unfolds delta) | git mktree --missing)
                 git update-ref refs/heads/big $(git commit-tree -p HEAD -m big $tree)",
                "over limit",
            ),
            (
                "printf 'tree %s\\nauthor a <a@b> 1 +0000\\ncommitter a <a@b> 1 +0000\\n\\nx\\n' $(unfolds tree) > c
                 echo $(git hash-object -t commit -w --stdin --literally < c) > .git/refs/heads/big; rm c",
                "larger than 64 MB",
            ),
        ] {
            let script = format!("{UNFOLDS}\necho two > a.txt; {commit}");
            let args = ["mount", "--", "sh", "-ec", &script];
            let did = within(60, limited(&world, &args), why).ends(0);
            did.says("commits on big are held").says(why);
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
        }
    });
}

#[test]
fn commits_that_change_very_many_paths_again_and_again_are_held_quickly() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let script = "echo two > a.txt
            tree() { blob=$(echo $1 | git hash-object -w --stdin); seq -f '%08.0f' 20000 | sed \"s/.*/100644 blob $blob\\tf&/\" | git mktree; }
            one=$(tree 1); two=$(tree 2); tip=$(git rev-parse HEAD)
            for i in $(seq 40); do tip=$(git commit-tree -p $tip -m $i $one); tip=$(git commit-tree -p $tip -m $i $two); done
            git update-ref refs/heads/again $tip";
        let args = ["mount", "--", "sh", "-ec", script];
        within(60, limited(&world, &args), "again").ends(0).says("commits on again are held");
        // Very many that change little are not.
        let script = "tip=$(git rev-parse HEAD); tree=$(git rev-parse HEAD^{tree})
            for i in $(seq 200); do tip=$(git commit-tree -p $tip -m $i $tree); done; git update-ref refs/heads/many $tip";
        let args = ["mount", "--", "sh", "-ec", script];
        within(60, limited(&world, &args), "many").ends(0).says("kept 200 commits of the agent");
    });
}

#[test]
fn very_many_branches_do_not_take_long() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            // Many at one commit that is known already, and many with a commit of their own.
            let script = "echo two > a.txt; for i in $(seq 3000); do echo \"create refs/heads/same$i $(cat .git/refs/heads/main)\"; done > list
                git update-ref --stdin < list; rm list; tree=$(git rev-parse HEAD^{tree})
                for i in $(seq 300); do echo \"create refs/heads/own$i $(git commit-tree -m $i $tree)\"; done > list
                git update-ref --stdin < list; rm list";
            let args = ["mount", "--mount", backend, "--", "sh", "-ec", script];
            let did = within(60, limited(&world, &args), backend).ends(0);
            did.says("there are more than 64 branches");
            assert_eq!(world.outside("cat a.txt; echo one > a.txt"), "two\n");
            world.outside(
                "git for-each-ref --format='delete %(refname)' refs/agentworkforce | git update-ref --stdin",
            );
        }
    });
}

#[test]
fn very_many_files_of_one_size_are_not_compared_with_each_other() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        // 8 bytes each, and none the same.
        let many = |dir: &str, count: u32, first: u32, kind: &str| {
            format!(
                "mkdir {dir}; for i in $(seq {count}); do printf %08d $((i + {first})) > {dir}/$i.{kind}; done"
            )
        };
        world.outside(&format!("{}; git add -A; git commit -qm many", many("old", 1000, 0, "txt")));
        for (kind, count) in [("pem", 5000), ("txt", 1000)] {
            let script = format!("rm -r old; {}; echo two > a.txt", many("new", count, 1_000_000, kind));
            let args = ["mount", "--", "sh", "-ec", &script];
            within(60, limited(&world, &args), kind).ends(0);
            let is = world.outside("cat a.txt; test -e old || echo gone; git reset -q --hard; rm -rf new");
            assert_eq!(is, "two\ngone\n", "{kind}");
        }
    });
}

#[test]
fn texts_that_have_little_in_common_are_not_compared_for_long() {
    const REWRITE: &str = "
import random
for number in range(150):
    open(f'{number}.txt', 'w').write(''.join(random.choice('0123456789abcdef') + '\\n' for _ in range(50_000)))
";
    for_each_identity(|world| {
        world.repository(&[("rewrite.py", REWRITE)]);
        world.outside("for i in $(seq 0 149); do seq 2000 > $i.txt; done; git add -A; git commit -qm many");
        let args = ["mount", "--apply", "never", "--", "python3", "rewrite.py"];
        within(60, limited(&world, &args), "the run").ends(0);
        let session = world.only_session();
        within(60, limited(&world, &["sessions", "diff", "--json", &session]), "the diff").ends(0);
        within(60, limited(&world, &["sessions", "apply", &session]), "the apply").ends(0);
    });
}

#[test]
fn a_signal_during_the_review_is_answered() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        // Enough for a review that takes a while.
        let done = world.path("done");
        let script = format!(
            "mkdir many; cd many; for d in $(seq 100); do mkdir d$d; for f in $(seq 100); do echo $f > d$d/$f; done; done
             touch '{}'",
            done.display()
        );
        for signal in ["INT", "TERM"] {
            let mut command = world.mounted_command(&["--apply", "never"], &script);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            assert!(crate::support::mount::soon(|| done.exists()), "the command does not end");
            std::thread::sleep(Duration::from_millis(30));
            let killed =
                Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
            assert!(killed.success());
            let began = Instant::now();
            while child.try_wait().unwrap().is_none() {
                assert!(began.elapsed() < Duration::from_secs(20), "SIG{signal} is not answered");
                std::thread::sleep(Duration::from_millis(10));
            }
            // The work is whole, and waits in the session.
            assert!(!world.project().join("many").exists());
            let session = world.listed().remove(0);
            assert!(matches!(session["state"].as_str(), Some("held" | "interrupted")), "{session:#}");
            let diff = world.aw(["sessions", "diff", session["id"].as_str().unwrap()]).ends(0);
            assert!(diff.stdout.contains("many/d100/100"), "it is not whole");
            world.aw(["sessions", "discard", session["id"].as_str().unwrap()]).ends(0);
            std::fs::remove_file(&done).unwrap();
        }
    });
}

/// The blocks that the project's file takes on the disk, in bytes.
fn blocks(world: &World, name: &str) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(world.project().join(name)).unwrap()) * 512
}

#[test]
fn a_file_of_terabytes_in_place_of_an_injected_one_is_not_read() {
    for who in identities() {
        for backend in BACKENDS {
            let world =
                World::with_harness(who, "begins; truncate -s 15T CLAUDE.md; echo two > a.txt; answers done");
            let mut persona = weaver();
            persona.as_object_mut().unwrap().remove("claudeMd");
            persona["claudeMdContent"] = "Be kind.".into();
            world.persona(&persona);
            let flags = ["weaver", "-p", "do it", "--mount", backend, "--apply", "auto"];
            within(60, world.agent_command(&flags), backend).ends(0);
            assert_eq!(world.outside("cat a.txt"), "two\n", "{backend}");
            assert_eq!(world.outside("cat CLAUDE.md"), "REPO-CLAUDE\n", "{backend}");
            let id = world.only_session();
            within(30, world.aw_command(["sessions", "show", &id]), backend).ends(0);
        }
    }
}

#[test]
fn holes_are_not_searched_for_secrets_and_what_is_between_them_is() {
    for who in identities() {
        for backend in BACKENDS {
            let script = "begins; truncate -s 15T x; truncate -s 8T y; printf %s \"$API_TOK\" >> y; truncate -s 15T y; answers done";
            let world = World::with_harness(who, script);
            let mut persona = weaver();
            persona["env"] = serde_json::json!({"API_TOK": "$API_TOK"});
            world.persona(&persona);
            let mut command = world
                .agent_command(&["weaver", "-p", "do it", "--mount", backend, "--apply", "never", "--json"]);
            command.env("API_TOK", "tok-0123456789abcdef");
            let report = within(60, command, backend).ends(0).json();
            assert_eq!(report["leaks"][0]["place"], "y", "{backend}: {:#}", report["leaks"]);
            let id = world.only_session();
            within(30, world.aw_command(["sessions", "diff", &id]), backend).ends(0);
        }
    }
}

#[test]
fn holes_stay_holes_when_they_are_applied_and_undone() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            world.repository(&[("a.txt", "one\n")]);
            let script = "truncate -s 4G big; echo end >> big; head -c 3000000 /dev/urandom > real; cksum < real > sum";
            let args = ["mount", "--mount", backend, "--", "sh", "-ec", script];
            within(60, limited(&world, &args), backend).ends(0);
            assert_eq!(world.outside("stat -c %s big; tail -c 4 big"), "4294967300\nend\n", "{backend}");
            assert!(blocks(&world, "big") < 1 << 20, "{backend}: {}", blocks(&world, "big"));
            world.outside("cksum < real | cmp - sum");
            within(60, limited(&world, &["sessions", "undo", &world.only_session()]), backend).ends(0);
            assert!(!world.project().join("big").exists(), "{backend}");
        }
    }
}
