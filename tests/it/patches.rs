//! `sessions diff` is a patch that git applies without loss, before and after the session is applied; on a terminal nothing in it is
//! obeyed.

use crate::support::mount::{Identity, World, for_each_identity, identities, read};
use crate::support::sessions::{BACKENDS, snapshot};
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const EDITS: &str = "printf 'a\\0c' > bin; printf 'one\\r\\ntwo' > crlf; chmod +x tool; rm gone; ln -sf tool link; \
    mv 'old name' \"new $(printf '\\n\\033')name\"; : > nothing; rm became; mkdir became; echo in > became/in; \
    head -c 3000000 /dev/urandom > large; printf '\\377\\376\\n' > latin; rm -r dir; echo x > dir";

fn project(world: &World) {
    world.files(&[
        ("bin", "a\0b"),
        ("became", "a file\n"),
        ("crlf", "one\r\n"),
        ("dir/one", "1\n"),
        ("dir/two", "2\n"),
        ("gone", "gone\n"),
        ("link", "was a file\n"),
        ("old name", "moved\n"),
        ("tool", "tool\n"),
        (".env", "SECRET=1\n"),
    ]);
    world.outside("git init -q . && git add -A -f && git commit -qm base");
}

/// Gives a patch to git in a new clone, and compares it with the project as the agent would have it.
fn git_makes_the_same(world: &World, patch: &[u8], name: &str) {
    fs::write(world.path(name), patch).unwrap();
    fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o644)).unwrap();
    let script = format!(
        "rm -rf ../clone && git clone -q . ../clone && cd ../clone && git apply --index --whitespace=nowarn '{}' && rm -rf .git",
        world.path(name).display()
    );
    world.outside(&script);
    let mut expected = snapshot(&world.project());
    expected.retain(|path, _| !path.starts_with(".git"));
    assert_eq!(snapshot(&world.project().join("../clone")), expected);
}

fn patch_of(world: &World, id: &str) -> Vec<u8> {
    let output = world.aw_command(["sessions", "diff", id]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn git_apply_makes_the_same_tree_before_and_after_the_apply() {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            let world = World::new(who);
            project(&world);
            world.mounted(&["--mount", backend, "--apply", "never"], EDITS).ends(0);
            let id = world.only_session();
            let pending = patch_of(&world, &id);
            world.aw(["sessions", "apply", &id]).ends(0);
            git_makes_the_same(&world, &pending, "pending.patch");
            // The mount is gone; what was applied is not.
            let applied = patch_of(&world, &id);
            assert_eq!(String::from_utf8_lossy(&applied), String::from_utf8_lossy(&pending));
            let kept = world.sessions().join(&id).join("journal/1.patch");
            assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(!String::from_utf8_lossy(&applied).contains("SECRET"));
            let one = world.aw(["sessions", "diff", &id, "tool"]).ends(0).stdout;
            assert_eq!(one, "diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n");
            let files = world.aw(["sessions", "diff", &id, "crlf", "--json"]).ends(0).json();
            assert_eq!(
                (&files["applied"], &files["files"][0]["path"], &files["files"][0]["added"]),
                (&json!(true), &json!("crlf"), &json!(1))
            );
            world.aw(["sessions", "undo", &id, "--only", "tool"]).ends(0);
            let undone = world.aw(["sessions", "diff", &id, "tool"]).ends(0).stdout;
            assert_eq!(undone, format!("# undone since: tool\n{one}"));
            world.aw(["sessions", "undo", &id]).ends(0);
            assert!(String::from_utf8_lossy(&patch_of(&world, &id)).contains("rename from \"old name\""));
            world.aw(["sessions", "discard", &id]).ends(0);
        }
    }
}

#[test]
fn a_session_applied_in_parts_has_all_of_them() {
    for backend in BACKENDS {
        let world = World::new(Identity::Own);
        project(&world);
        world.mounted(&["--mount", backend, "--apply", "never"], EDITS).ends(0);
        let id = world.only_session();
        world.aw(["sessions", "apply", &id, "--only", "bin", "--only", "tool"]).ends(0);
        let rest = String::from_utf8_lossy(&patch_of(&world, &id)).into_owned();
        assert!(!rest.contains("b/tool\n") && rest.contains("b/crlf\n"), "what waits: {rest}");
        world.aw(["sessions", "apply", &id]).ends(0);
        git_makes_the_same(&world, &patch_of(&world, &id), "both.patch");
    }
}

#[test]
fn a_repository_of_sha256_takes_binary_files_too() {
    let world = World::new(Identity::Own);
    world.files(&[("bin", "a\0b")]);
    world.outside("git init -q --object-format=sha256 . && git add -A && git commit -qm base");
    world.mounted(&["--apply", "never"], "printf 'a\\0c' > bin").ends(0);
    let patch = patch_of(&world, &world.only_session());
    world.aw(["sessions", "apply", "mount"]).ends(0);
    git_makes_the_same(&world, &patch, "sha256.patch");
}

#[test]
fn what_the_agent_wrote_commands_no_terminal() {
    for_each_identity(|world| {
        world.repository(&[("a", "one\n")]);
        world
            .mounted(
                &["--apply", "never"],
                "printf '\\033]0;pwned\\007red\\n' > a; echo x > \"n$(printf '\\033')\"",
            )
            .ends(0);
        let id = world.only_session();
        let piped = world.aw(["sessions", "diff", &id]).ends(0).stdout;
        assert!(piped.contains("+\u{1b}]0;pwned\u{7}red\n"), "as it is: {piped:?}");
        assert!(piped.contains("diff --git \"a/n\\033\" \"b/n\\033\"\n"), "names are quoted: {piped:?}");
        let terminal = Terminal::open(&world);
        for _ in 0..2 {
            terminal.clear();
            terminal.line(&format!(
                "script -qec \"$AW sessions diff {id}\" typescript > /dev/null; echo ended $?"
            ));
            terminal.shows("ended 0");
            let shown = read(world.project().join("typescript"));
            assert!(shown.contains("\\u{1b}]0;pwned\\u{7}red"), "{shown:?}");
            assert!(!shown.contains("\u{1b}]") && !shown.contains('\u{7}'), "{shown:?}");
            fs::remove_file(world.project().join("typescript")).unwrap();
            // Once more from what is kept.
            world.aw(["sessions", "apply", &id]);
        }
    });
}

#[test]
fn whoever_stops_reading_gets_no_error() {
    let world = World::new(Identity::Own);
    world.repository(&[("a", "one\n")]);
    world.mounted(&["--apply", "never"], "head -c 20000000 /dev/urandom > large").ends(0);
    let program = crate::support::mount::BINARY;
    let script = format!("set -o pipefail; '{program}' sessions diff mount | head -c 100 > /dev/null");
    let output = world.program("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
