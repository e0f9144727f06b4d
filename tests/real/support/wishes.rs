//! What the model asks a harness to do, in that harness's own terms.

use super::turn::Turn;
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

/// Writes `written` into a file.
pub fn write(harness: Harness, file: &str) -> Turn {
    match harness {
        Harness::Claude => Turn::call("Write", json!({"file_path": file, "content": "written\n"})),
        Harness::Opencode => Turn::call("write", json!({"filePath": file, "content": "written\n"})),
        Harness::Codex => shell(harness, &format!("echo written > {file}")),
    }
}

/// Runs a command.
pub fn shell(harness: Harness, command: &str) -> Turn {
    let (name, input) = shell_call(harness, command);
    Turn::call(name, input)
}

/// The tool that runs a command, and what it is given.
pub fn shell_call(harness: Harness, command: &str) -> (&'static str, Value) {
    let input = json!({"command": command, "description": "look"});
    match harness {
        Harness::Claude => ("Bash", input),
        Harness::Opencode => ("bash", input),
        Harness::Codex => ("exec_command", json!({"cmd": command})),
    }
}

/// Calls the tool `shout` of the server `probe`.
pub fn shout(harness: Harness) -> Turn {
    match harness {
        Harness::Claude | Harness::Codex => Turn::call("mcp__probe__shout", json!({"word": "hello"})),
        Harness::Opencode => Turn::call("probe_shout", json!({"word": "hello"})),
    }
}

/// The names of the tools that a request offers.
pub fn offered(request: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
        name.or_else(|| tool["type"].as_str()).unwrap_or_default().to_owned()
    };
    request["tools"].as_array().into_iter().flatten().map(name).collect()
}
