//! Forged object directories: commits are judged by what their objects are, whatever the agent's files say about them.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::{BACKENDS, Did};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;
use sha1::{Digest, Sha1};
use std::io::Write;

type Name = [u8; 20];

struct Object {
    /// As a pack numbers it.
    kind: u8,
    content: Vec<u8>,
}

fn sum(bytes: &[u8]) -> Name {
    Sha1::digest(bytes).into()
}

fn hex(name: &[u8]) -> String {
    name.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Object {
    fn commit(tree: &Object, parent: &str, subject: &str) -> Object {
        let who = "a <a@b> 1700000000 +0000";
        let tree = hex(&tree.name());
        let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{subject}\n");
        Object { kind: 1, content: text.into_bytes() }
    }

    /// Entries are in git's order already.
    fn tree(entries: &[(&str, &str, &Object)]) -> Object {
        let entry = |(mode, name, object): &(&str, &str, &Object)| {
            [format!("{mode} {name}\0").as_bytes(), &object.name()].concat()
        };
        Object { kind: 2, content: entries.iter().flat_map(entry).collect() }
    }

    fn blob(text: &str) -> Object {
        Object { kind: 3, content: text.into() }
    }

    fn name(&self) -> Name {
        let kind = ["commit", "tree", "blob"][usize::from(self.kind) - 1];
        sum(&[format!("{kind} {}\0", self.content.len()).as_bytes(), &self.content].concat())
    }
}

/// A pack with an index that gives each object the name that it is told to.
fn pack(objects: &[(Name, &Object)]) -> (Vec<u8>, Vec<u8>) {
    let number = |number: usize| u32::try_from(number).unwrap().to_be_bytes();
    let mut pack = [b"PACK\0\0\0\x02".as_slice(), &number(objects.len())].concat();
    let mut entries = Vec::new();
    for (name, object) in objects {
        let start = pack.len();
        let mut size = object.content.len();
        let mut byte = object.kind << 4 | u8::try_from(size & 15).unwrap();
        size >>= 4;
        while size > 0 {
            pack.push(byte | 0x80);
            byte = u8::try_from(size & 127).unwrap();
            size >>= 7;
        }
        pack.push(byte);
        let mut zlib = ZlibEncoder::new(&mut pack, Compression::default());
        zlib.write_all(&object.content).unwrap();
        zlib.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(&pack[start..]);
        entries.push((*name, crc.sum().to_be_bytes(), number(start)));
    }
    let trailer = sum(&pack);
    pack.extend(trailer);
    entries.sort_unstable();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255 {
        index.extend(number(entries.iter().filter(|(name, ..)| name[0] <= first).count()));
    }
    index.extend(entries.iter().flat_map(|(name, ..)| *name));
    index.extend(entries.iter().flat_map(|(_, crc, _)| *crc));
    index.extend(entries.iter().flat_map(|(.., offset)| *offset));
    index.extend(trailer);
    let trailer = sum(&index);
    index.extend(trailer);
    (pack, index)
}

/// Two branches: an honest one that has a hook where it does no harm, and one that has the same directory where git runs it, in a
/// pack whose index says that this directory is empty. Gives the script that puts them into the agent's repository.
fn forge(world: &World) -> String {
    let parent = world.outside("git rev-parse HEAD").trim().to_owned();
    let file = Object::blob("two\n");
    let hook = Object::blob("#!/bin/sh\ntouch \"$PROOF\"\n");
    let hooks = Object::tree(&[("100755", "pre-commit", &hook)]);
    let evil = Object::tree(&[("40000", ".githooks", &hooks), ("100644", "a.txt", &file)]);
    let outer = Object::tree(&[("100644", "a.txt", &file), ("40000", "sub", &evil)]);
    let [honest, harmful] =
        [(&outer, "docs"), (&evil, "harmless")].map(|(tree, subject)| Object::commit(tree, &parent, subject));
    let nothing = Object::tree(&[]);
    let named = |object| (Object::name(object), object);
    let packs = [
        ("a", &honest, pack(&[&honest, &outer, &evil, &hooks, &hook, &file].map(named))),
        ("b", &harmful, pack(&[named(&harmful), named(&evil), (hooks.name(), &nothing), named(&file)])),
    ];
    let mut script = String::new();
    for (branch, tip, (pack, index)) in packs {
        std::fs::create_dir_all(world.path("forge")).unwrap();
        std::fs::write(world.path(&format!("forge/pack-{branch}.pack")), pack).unwrap();
        std::fs::write(world.path(&format!("forge/pack-{branch}.idx")), index).unwrap();
        script += &format!("echo {} > .git/refs/heads/{branch}; ", hex(&tip.name()));
    }
    world.give();
    format!("cp {}/* .git/objects/pack/; {script}", world.path("forge").display())
}

#[test]
fn commits_are_judged_by_their_objects_and_not_by_the_agents_index_of_them() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside("git config core.hooksPath .githooks");
        let forged = forge(&world);
        // An index of all packs is made from theirs; an honest one beside it changes nothing.
        let together = "git multi-pack-index write; rm .git/objects/pack/pack-b.idx; git index-pack .git/objects/pack/pack-b.pack";
        for attack in [forged.clone(), format!("{forged}{together}")] {
            for backend in BACKENDS {
                let did = world.mounted(&["--mount", backend, "--json"], &attack).ends(0);
                let git = &did.json()["applied"]["git"];
                let [exported, held] =
                    ["exported", "held"].map(|key| git[key].as_array().unwrap().as_slice());
                assert!(matches!(exported, [branch] if branch["branch"] == "a"), "{git:#}");
                assert!(matches!(held, [branch] if branch["branch"] == "b"), "{git:#}");
                assert_eq!(held[0]["path"], ".githooks/pre-commit", "{git:#}");
                let kept = world.outside("git for-each-ref --format='%(refname)' refs/agentworkforce; git for-each-ref --format='delete %(refname)' refs/agentworkforce | git update-ref --stdin");
                assert!(kept.ends_with("/heads/a\n") && kept.lines().count() == 1, "{kept}");
                world.outside("git gc -q --prune=now");
            }
        }
    });
}

#[test]
fn commits_of_an_agent_that_packs_its_repository_are_not_held() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
        world.outside("git gc -q; echo two > b.txt; git commit -qam two");
        // The old content again: git touches the user's pack for it, and an overlay copies it.
        let packs = [
            "true",
            "git gc -q --prune=now",
            "git repack -q; git multi-pack-index write; git commit-graph write",
        ];
        for pack in packs {
            for backend in BACKENDS {
                let work = format!("echo one > b.txt; git commit -qam {backend}; {pack}");
                let did = world.mounted(&["--mount", backend, "--json"], &work).ends(0);
                let git = &did.json()["applied"]["git"];
                assert_eq!(
                    (git["exported"].as_array().unwrap().len(), &git["held"]),
                    (1, &json!([])),
                    "{pack}: {did:#?}"
                );
                world.outside("git fsck --strict; git checkout -q .; git for-each-ref --format='delete %(refname)' refs/agentworkforce | git update-ref --stdin");
            }
        }
    });
}

/// A pack of a few kilobytes: a file of 16 MB of zeros, and a delta that is a hundred copies of it.
const UNFOLDS: &str = r#"
import zlib, os, hashlib, struct
base, copies = bytes(0xFFFFFF), 100
def header(kind, size):
    found = [(kind << 4) | (size & 15)]
    size >>= 4
    while size:
        found[-1] |= 0x80
        found.append(size & 127)
        size >>= 7
    return bytes(found)
def number(size):
    found = b""
    while True:
        low, size = size & 127, size >> 7
        if not size: return found + bytes([low])
        found += bytes([low | 128])
def distance(size):
    found = [size & 127]
    size >>= 7
    while size:
        size -= 1
        found.insert(0, 0x80 | (size & 127))
        size >>= 7
    return bytes(found)
delta = number(len(base)) + number(len(base) * copies) + bytes([0xF0, 0xFF, 0xFF, 0xFF]) * copies
pack = b"PACK" + struct.pack(">II", 2, 2)
first = len(pack)
pack += header(3, len(base)) + zlib.compress(base, 9)
second = len(pack)
pack += header(6, len(delta)) + distance(second - first) + zlib.compress(delta, 9)
pack += hashlib.sha1(pack).digest()
os.makedirs(".git/objects/pack", exist_ok=True)
open(".git/objects/pack/pack-" + "ab" * 20 + ".pack", "wb").write(pack)
"#;

#[test]
fn objects_that_unfold_to_gigabytes_take_no_memory() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let unfolds = world.write("unfolds.py", UNFOLDS);
        let (git, sizes) = (world.outside("command -v git"), world.path("sizes"));
        // The largest size of each git in kilobytes.
        let text = format!(
            "#!/usr/bin/env python3\nimport resource, subprocess, sys\ncode = subprocess.call([{:?}] + sys.argv[1:])\n\
             open({:?}, 'a').write('%s\\n' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(code)\n",
            git.trim_end(),
            sizes.to_str().unwrap(),
        );
        world.raw_harness("git", &text, 0o755);
        for backend in BACKENDS {
            let attack = format!(
                "python3 {}; echo {backend} > a.txt; {} commit -qam unfolds",
                unfolds.display(),
                git.trim_end()
            );
            let mut command = world.mounted_command(&["--mount", backend], &attack);
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", world.path("bin").display()));
            let did = Did::of(&command.output().unwrap()).ends(0);
            did.says("of the agent as refs/");
            assert_eq!(world.outside("cat a.txt"), format!("{backend}\n"));
            let sizes = std::fs::read_to_string(&sizes).unwrap();
            let largest = sizes.lines().map(|size| size.parse::<u64>().unwrap()).max().unwrap();
            assert!(largest < 800_000, "{backend}: git took {largest} KB");
        }
    });
}
