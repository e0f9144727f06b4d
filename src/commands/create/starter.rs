//! The text of a new persona: as little as runs, with a `$comment` wherever somebody would ask.

use crate::load::library;
use crate::model::inherit::Inherit;
use crate::model::shape::Object;
use crate::model::tier::Harness;
use serde_json::{Map, Value, json};

/// What the new persona is asked to be.
pub struct Wishes<'a> {
    pub id: &'a str,
    pub base: Option<&'a str>,
    pub role: Option<&'a str>,
    pub name: Option<&'a str>,
    pub emoji: Option<&'a str>,
    pub description: Option<&'a str>,
    pub expertise: Option<Vec<String>>,
    pub inherit: Option<Vec<Inherit>>,
    pub harness: Option<Harness>,
    pub model: Option<&'a str>,
}

pub fn starter(wishes: &Wishes) -> Object {
    match (wishes.base, wishes.role) {
        (Some(base), _) => overlay(wishes, base),
        (None, Some(role)) => of_role(wishes, role),
        (None, None) => standalone(wishes),
    }
}

fn about(id: &str, what: &str) -> String {
    format!(
        "{what} Keys that start with `$` or `x-` are for people: remove them when you have read them. Check with \
         `agentworkforce lint {id}`, look with `agentworkforce agent {id} --dry-run`; every key is in \
         `agentworkforce schema persona`."
    )
}

/// Sets what was asked for; the rest is left to what stands below.
fn put_wishes(object: &mut Object, wishes: &Wishes) {
    let texts = [
        ("description", wishes.description),
        ("name", wishes.name),
        ("emoji", wishes.emoji),
        ("role", wishes.role),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            object.insert(key.into(), text.into());
        }
    }
    if let Some(expertise) = &wishes.expertise {
        object.insert("expertise".into(), json!(expertise));
    }
    if let Some(inherit) = &wishes.inherit {
        object.insert("inherit".into(), json!(inherit));
    }
    if let Some(harness) = wishes.harness {
        object.insert("harness".into(), harness.name().into());
    }
    if let Some(model) = wishes.model {
        object.insert("model".into(), model.into());
    }
}

fn overlay(wishes: &Wishes, base: &str) -> Object {
    let mut object = Map::new();
    let what = format!(
        "An overlay of `{base}`: what is not said here comes from there (`agentworkforce show {} --origins`). Texts and \
         lists replace; permissions, inputs, env, mcpServers and the patterns of mount are added to.",
        wishes.id
    );
    object.insert("$comment".into(), about(wishes.id, &what).into());
    object.insert("id".into(), wishes.id.into());
    object.insert("extends".into(), base.into());
    put_wishes(&mut object, wishes);
    object.insert(
        "permissions".into(),
        json!({"$comment": "Added to what the base allows and denies; `removeAllow` and `removeDeny` remove entries.", "allow": [], "deny": []}),
    );
    object
}

fn of_role(wishes: &Wishes, role: &str) -> Object {
    let mut object = Map::new();
    let what = format!(
        "A persona with the role `{role}`: the role's charter is its job (`agentworkforce role show {role}`), and the \
         role says which harness and model, unless `harness` and `model` do here."
    );
    object.insert("$comment".into(), about(wishes.id, &what).into());
    object.insert("id".into(), wishes.id.into());
    object.insert("description".into(), "Say in one sentence when to use it.".into());
    put_wishes(&mut object, wishes);
    if wishes.expertise.is_none() {
        object.insert(
            "$comment-expertise".into(),
            "What this one is good at, as single words; they appear in its prompt.".into(),
        );
        object.insert("expertise".into(), json!([]));
    }
    let (permissions, mount) =
        built_in_like(role).unwrap_or_else(|| (editing(), json!({"readonlyPatterns": []})));
    object.insert("permissions".into(), commented(permissions, ABOUT_PERMISSIONS));
    object.insert("mount".into(), commented(mount, ABOUT_MOUNT));
    object
}

const ABOUT_PERMISSIONS: &str = "Allowed runs without asking; denied never runs, and beats allowed. `mode` decides about the rest: \
    acceptEdits lets it edit, default asks, which a headless run cannot.";
const ABOUT_MOUNT: &str = "Gitignore patterns: what it must not see (`ignoredPatterns`), and what it may see but not change \
    (`readonlyPatterns`). Secrets are hidden already.";

/// What a persona needs to work on its own: files and commands, and nothing that leaves the machine.
fn editing() -> Value {
    json!({
        "allow": ["Read", "Grep", "Glob", "Edit", "Write", "Bash"],
        "deny": ["Bash(git push:*)", "Bash(sudo:*)"],
        "mode": "acceptEdits",
    })
}

/// Permissions and mount of the built-in persona that does the work of this role; `None` for a role of the user's own.
fn built_in_like(role: &str) -> Option<(Value, Value)> {
    let id = match role {
        "engineer" | "architect" => "engineer",
        "analyst" => "analyst",
        "lead-explorer" => "explorer",
        "operator" => "ci-fixer",
        "reviewer" => "code-reviewer",
        "tester" => "test-writer",
        "writer" => "docs-writer",
        _ => return None,
    };
    let persona = library::personas().find(|persona| persona.key == id)?;
    let mut persona: Object = serde_json::from_str(persona.json).ok()?;
    Some((persona.remove("permissions")?, persona.remove("mount")?))
}

/// The object with a comment in front.
fn commented(object: Value, comment: &str) -> Value {
    let mut commented = Map::from_iter([("$comment".to_owned(), json!(comment))]);
    if let Value::Object(object) = object {
        commented.extend(object);
    }
    Value::Object(commented)
}

fn standalone(wishes: &Wishes) -> Object {
    let mut object = Map::new();
    object.insert("$comment".into(), about(wishes.id, "A persona is one job.").into());
    object.insert("id".into(), wishes.id.into());
    object.insert("intent".into(), wishes.id.into());
    object.insert("description".into(), "Say in one sentence when to use it.".into());
    object.insert("tags".into(), json!([]));
    object.insert("harness".into(), Harness::DEFAULT.name().into());
    put_wishes(&mut object, wishes);
    object.insert(
        "$comment-harness".into(),
        "One runtime for every tier. For several, move `harness` and `model` into `tiers.best`, `tiers.best-value` and \
         `tiers.minimum`."
            .into(),
    );
    object.insert("permissions".into(), commented(editing(), ABOUT_PERMISSIONS));
    object.insert(
        "mount".into(),
        commented(json!({"ignoredPatterns": [], "readonlyPatterns": []}), ABOUT_MOUNT),
    );
    object.insert(
        "$comment-inputs".into(),
        "Values of a run, as `$FOCUS` or `${FOCUS}` in the prompt: from `--input FOCUS=...`, else `default`."
            .into(),
    );
    object.insert(
        "inputs".into(),
        json!({"FOCUS": {"description": "What to look at first", "default": "the whole project"}}),
    );
    object.insert(
        "$comment-systemPrompt".into(),
        "The job: in two sentences what it is, then the steps in order, what to hand back, what not to do."
            .into(),
    );
    object.insert("systemPrompt".into(), PROMPT.into());
    object
}

const PROMPT: &str = "## The job

Say here in two sentences what is to be done, and how one can tell that it is done. Look first at: $FOCUS.

### Work in this order

1. Read what is there before you change anything.
2. Do the smallest thing that is complete.
3. Check it with the project's own commands.

### Hand back

What you did, what you ran and what it said, and what you could not check.

### Do not

- Do not change what nobody asked for.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::check::check;
    use crate::model::formats::PERSONA;

    #[test]
    fn every_starter_is_clean() {
        let wishes = |base, role| Wishes {
            id: "a",
            base,
            role,
            name: Some("A"),
            emoji: None,
            description: None,
            expertise: None,
            inherit: Some(vec![Inherit::Skills]),
            harness: Some(Harness::Codex),
            model: None,
        };
        for (base, role) in
            [(None, None), (Some("b"), None), (None, Some("engineer")), (Some("b"), Some("engineer"))]
        {
            let object = starter(&wishes(base, role));
            assert_eq!(check(&object, PERSONA), [], "{object:?}");
            assert!(object["$comment"].as_str().is_some_and(|text| text.contains("agentworkforce lint a")));
        }
    }
}
