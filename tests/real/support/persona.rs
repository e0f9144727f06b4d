//! A persona that uses everything, in the world of a real harness, with marks that can be looked for in the model's requests.

use super::scratch::Scratch;
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::path::PathBuf;

pub const IDENTITY: &str = "Quillon Marker";
pub const CHARTER: &str = "CHARTER-MARKER: leave nothing half done.";
pub const PROMPT: &str = "PROMPT-MARKER: work with care.";
pub const SIDECAR: &str = "SIDECAR-MARKER: rules of this persona.";
pub const REPO_CLAUDE: &str = "REPO-CLAUDE-MARKER";
pub const REPO_AGENTS: &str = "REPO-AGENTS-MARKER";
/// Instruction files of the directory above the project.
pub const ABOVE: &str = "ABOVE-THE-PROJECT";
pub const SKILL: &str = "SKILL-MARKER: how to knit a scarf";
pub const HIDDEN: &str = "HIDDEN-CONTENT-MARKER";
/// What the tool `shout` of the server `probe` answers to `hello`, and how long its secret is.
pub const SHOUTED: &str = "SHOUTED-HELLO-12";
/// What stands for the tool in a request.
pub const TOOL: &str = "MCP-TOOL-MARKER";
/// A variable of the user that the server is given by name, and its value.
pub const SECRET: (&str, &str) = ("SECRET_OF_THE_USER", "SECRET-VALUE");
/// The model that the persona names on this harness: not the one that the harness would take by itself.
pub const fn named_model(harness: Harness) -> (&'static str, &'static str) {
    match harness {
        Harness::Claude => ("claude-opus-4-6", "claude-opus-4-6"),
        Harness::Opencode => ("scratch/named", "named"),
        Harness::Codex => ("openai/named", "named"),
    }
}

/// A server with one tool, in a language that every harness brings along.
const SERVER: &str = r#"
const lines = require("readline").createInterface({input: process.stdin});
const send = (id, result) => process.stdout.write(JSON.stringify({jsonrpc: "2.0", id, result}) + "\n");
const tool = {name: "shout", description: "MCP-TOOL-MARKER shouts", inputSchema: {type: "object", properties: {word: {type: "string"}}, required: ["word"]}};
lines.on("line", line => {
  const {id, method, params} = JSON.parse(line);
  if (method === "initialize") send(id, {protocolVersion: params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "probe", version: "1"}});
  else if (method === "tools/list") send(id, {tools: [tool]});
  else if (method === "tools/call") send(id, {content: [{type: "text", text: "SHOUTED-" + params.arguments.word.toUpperCase() + "-" + process.env.PROBE_SECRET.length}]});
  else if (id !== undefined) send(id, {});
});
"#;

impl Scratch {
    /// The file of a server whose one tool is `shout`.
    pub fn server(&self) -> PathBuf {
        self.write("server/probe.js", SERVER)
    }

    /// The persona `tester` of the project layer, its role, sidecars, skill and MCP server, and a repository with things of its own.
    pub fn tester(&self, harness: Harness, more: &Value) {
        let layer = "project/.agentworkforce/workforce";
        self.write(
            format!("{layer}/roles/knitter.json"),
            json!({"label": "Knitter", "charter": CHARTER}).to_string(),
        );
        self.write(format!("{layer}/personas/rules.md"), SIDECAR);
        let skill = format!("---\nname: knitting\ndescription: {SKILL}\n---\n\nKnit.\n");
        self.write(format!("{layer}/personas/skills/knitting/SKILL.md"), skill);
        let server = self.server();
        let mut persona = json!({
            "id": "tester", "intent": "testing", "description": "Tests", "harness": harness.name(),
            "name": IDENTITY, "role": "knitter", "systemPrompt": PROMPT,
            "claudeMd": "rules.md", "agentsMd": "rules.md",
            "skills": [{"id": "knitting", "source": "./skills/knitting", "description": SKILL}],
            "model": named_model(harness).0,
            "mcpServers": {"probe": {
                "command": "node", "args": [server.display().to_string()],
                "env": {"PROBE_SECRET": format!("${}", SECRET.0)},
            }},
            "permissions": permissions(harness),
        });
        for (key, value) in more.as_object().expect("an object") {
            persona[key] = value.clone();
        }
        self.persona(&persona);
        self.write("CLAUDE.md", ABOVE);
        self.write("AGENTS.md", ABOVE);
        self.write("project/CLAUDE.md", REPO_CLAUDE);
        self.write("project/AGENTS.md", REPO_AGENTS);
        self.write("project/.env", HIDDEN);
        self.write("project/.gitignore", ".env\n");
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "things of its own"]);
    }
}

/// Enough to write and to call the server, and one tool denied.
fn permissions(harness: Harness) -> Value {
    match harness {
        Harness::Claude | Harness::Opencode => {
            json!({"allow": ["Read", "Write", "Bash(cat:*)", "mcp__probe"], "deny": ["WebFetch"], "mode": "acceptEdits"})
        }
        Harness::Codex => json!({"mode": "acceptEdits"}),
    }
}
