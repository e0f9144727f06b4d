//! Copies tokens that the harness renewed inside back to the user: an exchanged access token would otherwise be lost. Nothing else is
//! copied, because a login can contain configuration: one kind makes opencode fetch and run what a server says.

use super::config_layer::ConfigLayer;
use crate::files::atomic::{self, FileMode};
use crate::files::regular;
use crate::model::mount::Logins;
use crate::mount::fs::tree::Tree;
use serde_json::Value;
use std::path::Path;

/// The largest file of logins.
const LARGEST: u64 = 1 << 20;

/// Keeps renewed logins from the layers. One that cannot be kept is renewed again by the next run, or asked for.
pub(super) fn keep_renewed(layers: &[ConfigLayer]) {
    for layer in layers {
        if let Some(logins) = &layer.config.logins {
            keep(logins, Path::new(&*layer.overlay.upper), Path::new(&*layer.overlay.target));
        }
    }
}

fn keep(logins: &Logins, inside: &Path, outside: &Path) {
    let Some(after) = read_inside(inside, Path::new(&logins.file)) else { return };
    // The user's own file, wherever a link leads to it.
    let Ok(file) = outside.join(&logins.file).canonicalize() else { return };
    let Some(renewed) = read(&file).and_then(|before| renewed(&before, &after, &logins.renewed)) else {
        return;
    };
    let text = format!("{renewed:#}\n");
    if let Err(error) = atomic::write(&file, text.as_bytes(), FileMode::Private) {
        tracing::warn!("a renewed login cannot be kept: {error}");
    }
}

/// The agent may have put anything there: a link could lead to a file that is hidden from it.
fn read_inside(upper: &Path, file: &Path) -> Option<Value> {
    let (file, _) = Tree::open(upper).and_then(|tree| tree.open_file(file)).ok()?;
    serde_json::from_slice(&regular::content(file, LARGEST).ok()?).ok()
}

fn read(file: &Path) -> Option<Value> {
    serde_json::from_slice(&regular::read(file, LARGEST).ok()?).ok()
}

/// Whether this is a file of logins, with no content that is not outside as well.
pub(super) fn are_kept(layer: &ConfigLayer, path: &Path) -> bool {
    let is_ours = layer.config.logins.as_ref().is_some_and(|logins| path == Path::new(&logins.file));
    let inside = || read_inside(&layer.overlay.upper, path);
    is_ours && inside().is_some_and(|inside| read(&layer.overlay.target.join(path)) == Some(inside))
}

/// The earlier logins with renewed tokens; `None` if nothing was renewed.
fn renewed(before: &Value, after: &Value, fields: &[String]) -> Option<Value> {
    let mut logins = before.clone();
    renew(&mut logins, after, fields);
    (logins != *before).then_some(logins)
}

fn renew(login: &mut Value, after: &Value, fields: &[String]) {
    let Some(login) = login.as_object_mut() else { return };
    if login.get("type") != after.get("type") {
        return;
    }
    for (name, old) in login {
        let Some(new) = after.get(name) else { continue };
        if old.is_object() {
            renew(old, new, fields);
        } else if fields.contains(name)
            && ((old.is_string() && new.is_string()) || (old.is_u64() && new.is_u64()))
        {
            *old = new.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn renewed_tokens_are_kept_and_nothing_else() {
        let before = json!({
            "a": { "type": "oauth", "refresh": "r1", "access": "a1", "expires": 1, "enterpriseUrl": "ours" },
            "b": { "type": "api", "key": "k" },
        });
        let after = json!({
            "a": { "type": "oauth", "refresh": "r2", "access": "a2", "expires": 2, "enterpriseUrl": "theirs", "more": 1 },
            "b": { "type": "oauth", "refresh": "x", "key": "theirs" },
            "http://theirs": { "type": "wellknown", "key": "k", "token": "t" },
        });
        let fields = ["access", "refresh", "expires"].map(str::to_owned);
        let kept = renewed(&before, &after, &fields).unwrap();
        assert_eq!(
            kept,
            json!({
                "a": { "type": "oauth", "refresh": "r2", "access": "a2", "expires": 2, "enterpriseUrl": "ours" },
                "b": { "type": "api", "key": "k" },
            })
        );
        assert_eq!(renewed(&before, &json!({ "a": { "type": "oauth", "expires": "x" } }), &fields), None);
        assert_eq!(renewed(&before, &json!([]), &fields), None);
        // The form of claude and codex.
        let before = json!({ "last": "l1", "tokens": { "access": "a1" }, "servers": { "s": { "access": "b1", "url": "ours" } } });
        let after = json!({ "last": "l2", "tokens": { "access": "a2" }, "servers": { "s": { "access": "b2", "url": "theirs" }, "t": {} } });
        let fields = ["access", "last"].map(str::to_owned);
        let kept = renewed(&before, &after, &fields).unwrap();
        assert_eq!(
            kept,
            json!({ "last": "l2", "tokens": { "access": "a2" }, "servers": { "s": { "access": "b2", "url": "ours" } } })
        );
    }
}
