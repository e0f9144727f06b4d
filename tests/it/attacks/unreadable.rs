//! A directory that was closed while the project was scanned, opened from inside.

use crate::support::harness::weaver;
use crate::support::mount::{for_each_identity, is_unprivileged};
use crate::support::sessions::BACKENDS;

#[test]
fn a_closed_directory_cannot_be_opened_from_inside() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("ro/.env", "K=HIDDEN\n"), ("ro/x", "x\n")]);
        world.persona(&weaver());
        world.outside(
            "mkdir -p s/deep x list/sub; echo K=TOPSECRET > s/.env; echo K=TOPSECRET > s/deep/.env
             echo K=TOPSECRET > x/.env; echo K=TOPSECRET > list/sub/.env
             chmod 000 s; chmod 311 x; chmod 444 list; chmod 555 ro",
        );
        for backend in BACKENDS {
            let script = "chmod -R u+rwx s x list/sub 2>/dev/null || true
                 cat s/.env s/deep/.env x/.env list/sub/.env ro/.env 2>/dev/null || true
                 mkdir -p s; echo made > s/made 2>/dev/null || true; cat ro/x; echo two > a.txt";
            let did = world.mounted(&["--mount", backend, "--json"], script).ends(0);
            assert!(!did.stderr.contains("TOPSECRET") && !did.stderr.contains("HIDDEN"), "{did:#?}");
            if is_unprivileged(world.who) {
                let warnings = did.json()["warnings"].clone();
                let codes: Vec<&str> = warnings
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(|warning| warning["code"].as_str())
                    .collect();
                assert!(codes.contains(&"unreadable"), "{warnings:#}");
                let review = did.json()["applied"]["outcome"]["review"].clone();
                let kept = crate::support::sessions::paths(&review["protected"]);
                assert!(kept.contains(&"s/made".to_owned()), "{review:#}");
                for path in ["s/.env", "s/anything", "x/y", "list/sub"] {
                    let shown = world.aw(["show", "weaver", "--json", "--files", path]).ends(0);
                    assert_eq!(shown.json()["decision"], "hidden", "{path}: {shown:?}");
                }
            }
            assert_eq!(world.outside("cat a.txt"), "two\n");
            // The user's own directories are as they were, where the agent may not change them.
            let modes = world.outside("stat -c %a s x list ro; echo one > a.txt");
            if is_unprivileged(world.who) {
                assert_eq!(modes, "0\n311\n444\n555\n");
            }
        }
        world.outside("chmod -R u+rwx s x list ro");
    });
}
