//! What claude holds for us besides permissions, seen in what it sends to the model.

use crate::support::persona::SIDECAR;
use crate::support::wishes::offered;
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

/// A home full of things that a user keeps for claude, each with a mark of its own.
const MARKS: [&str; 7] = [
    "USERS-INSTRUCTIONS",
    "USERS-RULES",
    "USERS-SKILL",
    "USERS-AGENT",
    "USERS-COMMAND",
    "USERS-STYLE",
    "USERS-MEMORY",
];

fn furnish(world: &Scratch) {
    let [instructions, rules, skill, agent, command, style, memory] = MARKS;
    let described = |name: &str, mark: &str| format!("---\nname: {name}\ndescription: {mark}\n---\n{mark}\n");
    let dir = "home/.claude";
    world.write(format!("{dir}/CLAUDE.md"), instructions);
    world.write(format!("{dir}/rules/rule.md"), rules);
    world.write(format!("{dir}/skills/skilled/SKILL.md"), described("skilled", skill));
    world.write(format!("{dir}/agents/helper.md"), described("helper", agent));
    world.write(format!("{dir}/commands/commanded.md"), described("commanded", command));
    world.write(format!("{dir}/output-styles/styled.md"), described("styled", style));
    world.write(format!("{dir}/settings.json"), json!({"outputStyle": "styled"}).to_string());
    // Notes of earlier sessions are kept by the project's path.
    let slug = world.project().display().to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    world.write(format!("{dir}/projects/{slug}/memory/MEMORY.md"), format!("- {memory}\n"));
}

fn seen(world: &Scratch) -> Vec<&'static str> {
    MARKS.into_iter().filter(|mark| world.model.contains(mark)).collect()
}

#[test]
fn hermetic_keeps_out_everything_of_the_user() {
    let world = Scratch::new([Turn::text("fine"), Turn::text("fine")]);
    furnish(&world);
    world.plain(Harness::Claude, &json!({"hermetic": true, "claudeMdContent": SIDECAR}));
    world.succeeds(&[]);
    assert_eq!(seen(&world), <[&str; 0]>::default());
    assert!(world.model.contains(SIDECAR));
    world.promises("hermetic");
    // They are found where they are, unless we keep them out.
    world.plain(Harness::Claude, &json!({}));
    world.succeeds(&[]);
    assert_eq!(seen(&world), MARKS);
}

#[test]
fn bare_mode_is_bare_and_the_skills_and_the_sidecar_are_not_promised() {
    let mut world = Scratch::new([Turn::text("fine")]);
    // In this mode claude looks for no other login.
    world.set_var("ANTHROPIC_API_KEY", "scratch-key");
    furnish(&world);
    world.tester(Harness::Claude, &json!({"bareMode": true}));
    world.succeeds(&[]);
    assert_eq!(seen(&world), <[&str; 0]>::default());
    assert_eq!(offered(&world.model.turns()[0].body), ["Bash", "Edit", "Read", "mcp__probe__shout"]);
    world.promises("bareMode");
    for (field, mark) in [("skills", crate::support::persona::SKILL), ("sidecar", SIDECAR)] {
        assert!(!world.model.contains(mark), "{field} can be promised after all");
        assert_eq!(world.row(field).0, "unsupported");
    }
}

#[test]
fn model_effort_and_servers_are_the_personas() {
    let world = Scratch::new([Turn::text("fine")]);
    world.tester(Harness::Claude, &json!({"harnessSettings": {"reasoning": "low"}}));
    // Servers that claude would start otherwise: the user's, the user's for this project, and the repository's.
    let server = json!({"command": "node", "args": [world.root().join("server/probe.js")]});
    let mut state: Value = serde_json::from_str(&world.read("home/.claude.json")).expect("JSON");
    let project = world.project().display().to_string();
    state["mcpServers"] = json!({ "users": server });
    state["projects"][&project]["mcpServers"] = json!({ "local": server });
    state["projects"][&project]["enabledMcpjsonServers"] = json!(["repos"]);
    world.write("home/.claude.json", state.to_string());
    world.write("project/.mcp.json", json!({"mcpServers": {"repos": server}}).to_string());
    // Without a mount nothing is hidden, so that claude alone decides.
    world.succeeds(&["--install-in-repo"]);
    let request = &world.model.turns()[0].body;
    assert_eq!(request["model"], crate::support::persona::named_model(Harness::Claude).1);
    assert_eq!(request["output_config"]["effort"], "low", "{request:#}");
    let tools = offered(request);
    let servers: Vec<&String> = tools.iter().filter(|tool| tool.starts_with("mcp__")).collect();
    assert_eq!(servers, ["mcp__probe__shout"]);
    for field in ["model", "harnessSettings.reasoning", "mcpServers"] {
        world.promises(field);
    }
}

/// Why the effort is only promised for some models.
#[test]
fn a_model_without_effort_is_sent_none() {
    let world = Scratch::new([Turn::text("fine")]);
    world.plain(Harness::Claude, &json!({"model": "haiku", "harnessSettings": {"reasoning": "low"}}));
    world.succeeds(&[]);
    assert_eq!(world.model.turns()[0].body["output_config"], Value::Null, "it can be promised after all");
    assert_eq!(world.row("harnessSettings.reasoning").0, "advisory");
}
