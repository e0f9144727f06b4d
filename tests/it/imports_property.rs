//! Whatever a file holds, reading it ends in personas that the format's own law accepts, or in a reason.

use agentworkforce::convert::detect::{FileKind, kind};
use agentworkforce::convert::{Format, Origin, Source, convert};
use agentworkforce::load::check::check;
use agentworkforce::model::formats::{PERSONA, ROLE};
use agentworkforce::model::shape::Severity;
use proptest::prelude::*;

const FILES: [(&str, &str); 7] = [
    (
        "a.md",
        "\u{feff}---\r\nname: Größe\ndescription: Use: it.\\n<example>\nuser: \"a: b\"\n</example>\ntools: Read, Bash(git log:*), 'X'\nmaxTurns: 3\nmcpServers:\n  a: {command: [x, y], env: {K: \"${{ secrets.T }}\", 'b c': 1}}\n  b: z\n---\n\nBödy ${X}\n",
    ),
    (
        "b.md",
        "---\nmode: subagent\npermission:\n  '*': deny\n  bash: {'*': deny, 'git *': allow, '': ask}\n  edit: [1]\ntools: {write: yes, x: null}\nsteps: -1\n---\nx\n",
    ),
    (
        "opencode.json",
        "{\"agent\": {\"a\": {\"prompt\": \"{file:./x}\", \"tools\": []}, \"\": 3, \"é\": {\"prompt\": \"x\"}}, /* c */ \"mcp\": {\"s\": {\"url\": \"u\"},},}",
    ),
    (
        "c.toml",
        "name = \"c\"\ndeveloper_instructions = '''x'''\nsandbox_mode = \"moon\"\nwhen = 1979-05-27T07:32:00Z\nf = nan\n[mcp_servers.\"a b\"]\ncommand = \"x\"\nenv_vars = [\"A\", \"b c\"]\n",
    ),
    (
        "d.yaml",
        "title: T\ninstructions: '{{ a }} {{b|c}} {{'\nparameters: [{key: a}, {key: 'ä'}, {key: A}, {}, 3, {key: path, default: 1}]\nextensions: [{type: stdio, cmd: x, name: ''}, {type: sse, uri: u, name: n}, 4]\nanchor: &x [1]\nalias: *x\n",
    ),
    (
        ".kiro/agents/k.json",
        "{\"name\": \"k\", \"prompt\": \"file://x\", \"tools\": [\"@s/*\", \"fs_*\", \"-x\", \"@\"], \"allowedTools\": [\"*\", \"@s/a b\"], \"toolsSettings\": {\"shell\": {\"deniedCommands\": [\"\", \"-x\", \"a b\"]}, \"read\": {\"deniedPaths\": [\" \", \"/x\", \"a\"]}, \"odd\": {\"deniedX\": 1}}, \"mcpServers\": {\"s\": {\"url\": \"u\", \"headers\": {\"a\": \"${input:é}\"}}}}",
    ),
    (
        "config.json",
        "{\"roles\": {\"R Ö\": \"text\", \"b\": 3, \"\": {\"label\": \"\\n\"}}, \"agents\": {\"x\": {\"name\": \"\\u202e\", \"emoji\": \"12345678901234567890\", \"role\": \"r\", \"skills\": \"a,b\"}, \"y\": 1}}",
    ),
];

fn read(path: &str, text: &str) {
    let nearby = |_: &str| Ok("nearby".to_owned());
    let source = Source { path, below: path, text, nearby: &nearby };
    if let FileKind::Agent(format) = kind(&source, Origin::Named) {
        judge(format, &source);
    }
    for format in Format::ALL {
        judge(format, &source);
    }
}

fn judge(format: Format, source: &Source) {
    let Ok(converted) = convert(format, source) else { return };
    let is_error = |severity: Severity| severity == Severity::Error;
    for draft in &converted.drafts {
        let errors: Vec<_> =
            check(&draft.persona, PERSONA).into_iter().filter(|problem| is_error(problem.severity)).collect();
        assert!(errors.is_empty(), "{errors:?} in {:?}", draft.persona);
        assert!(draft.fields.iter().all(|field| !field.field.is_empty()));
    }
    for role in &converted.roles {
        let errors: Vec<_> =
            check(&role.role, ROLE).into_iter().filter(|problem| is_error(problem.severity)).collect();
        assert!(errors.is_empty(), "{errors:?} in {:?}", role.role);
    }
}

#[test]
fn every_kind_of_file_is_read_to_something_valid() {
    for (path, text) in FILES {
        read(path, text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_stops_it(text in "\\PC{0,200}", name in "[a-z.]{1,8}\\.(md|toml|yaml|json|agent\\.md)") {
        read(&name, &text);
    }

    #[test]
    fn no_bytes_stop_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read("x.md", &String::from_utf8_lossy(&bytes));
        read("x.yaml", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_block_of_keys_stops_it(block in "([a-zA-Z]{0,6}:? ?[-\\[\\]{}|>'\"&*!#%@,a-z0-9: \t]{0,20}\r?\n){0,8}", closed: bool) {
        read("x.md", &format!("---\n{block}{}\nbody", if closed { "---" } else { "" }));
        read("x.yaml", &block);
        read("x.toml", &block);
    }

    #[test]
    fn no_cut_or_torn_file_stops_it(which in 0..FILES.len(), at in 0.0..1.0f64, until in 0.0..1.0f64) {
        let (path, text) = FILES[which];
        let chars: Vec<char> = text.chars().collect();
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let place = |part: f64| (part * chars.len() as f64) as usize;
        let cut: String = chars[..place(at)].iter().collect();
        read(path, &cut);
        // A piece out of the middle is missing.
        let (from, to) = (place(at.min(until)), place(at.max(until)));
        let torn: String = chars[..from].iter().chain(&chars[to..]).collect();
        read(path, &torn);
    }
}
