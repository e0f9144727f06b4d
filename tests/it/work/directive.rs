//! The directive: who may write it, and who is told.

use super::{harness, world};
use serde_json::json;

const HAND_IN: &str = "report '\"calc.sh\"'";

#[test]
fn the_projects_directive_is_told_and_read_again_for_each_attempt() {
    let world = world("");
    let directive = world.project().join(".agentworkforce/directive.md");
    // The project itself stands outside of the overlay only for the user; here the user is fast.
    world.files(&[(".agentworkforce/directive.md", "NEVER RENAME\n")]);
    let record = world.path("record");
    harness(&world, &format!("[ $n = 1 ] && sleep 2; [ $n = 2 ] && mend; {HAND_IN}"));
    let user = std::thread::spawn(move || {
        while !record.join("stdin.1").exists() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::write(&directive, "NEVER DELETE\n").unwrap();
    });
    let (verdict, code) = world.verdict(&[]);
    user.join().unwrap();
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    assert!(world.recorded("stdin.1").contains("=== DIRECTIVE ===\nNEVER RENAME"));
    assert!(world.recorded("stdin.2").contains("=== DIRECTIVE ===\nNEVER DELETE"));
}

#[test]
fn a_link_in_place_of_the_directive_shows_nothing_to_anybody() {
    for (link, target) in [(".agentworkforce/directive.md", "../.env"), (".agentworkforce", "hidden")] {
        let world = world(&format!("mend; {HAND_IN}"));
        world.files(&[(".env", "TOKEN=supersecret\n"), ("hidden/directive.md", "TOKEN=supersecret\n")]);
        if link != ".agentworkforce" {
            world.files(&[(".agentworkforce/keep", "")]);
        }
        std::os::unix::fs::symlink(target, world.project().join(link)).unwrap();
        let did =
            world.worked(&["work", "mend add", "--as", "hand", "--check", "sh check.sh", "--apply", "auto"]);
        assert_ne!(did.code, 0, "{link}: {did:#?}");
        let told = (1..4)
            .map(|n| std::fs::read_to_string(world.path(&format!("record/stdin.{n}"))).unwrap_or_default());
        assert!(told.into_iter().all(|text| !text.contains("supersecret")), "{link}");
    }
}

#[test]
fn what_an_agent_leaves_beside_our_home_instructs_nobody() {
    let world = world("");
    harness(
        &world,
        &format!(
            "echo 'TOKEN=supersecret' > \"$HOME/.agentworkforce/directive.md\"; [ $n = 2 ] && mend; {HAND_IN}"
        ),
    );
    let (verdict, _) = world.verdict(&[]);
    assert_eq!(verdict["verdict"], "APPROVE", "{verdict:#}");
    assert!(!world.recorded("stdin.2").contains("supersecret"));
}

#[test]
fn with_a_persona_ref_the_directive_is_that_of_the_commit() {
    let world = world(&format!("mend; {HAND_IN}"));
    let persona = r#"{"id":"hand","intent":"work","description":"works","harness":"claude","systemPrompt":"You work."}"#;
    world.files(&[
        (".agentworkforce/workforce/personas/hand.json", persona),
        (".agentworkforce/directive.md", "OF THE COMMIT\n"),
    ]);
    world.outside("git add -A && git commit -qm layer && git branch trusted");
    world.files(&[(".agentworkforce/directive.md", "OF THE PULL REQUEST\n")]);
    let (verdict, _) = world.verdict(&["--persona-ref", "trusted"]);
    assert_eq!(verdict["verdict"], "APPROVE", "{verdict:#}");
    let told = world.recorded("stdin.1");
    assert!(told.contains("OF THE COMMIT") && !told.contains("OF THE PULL REQUEST"), "{told}");
}
