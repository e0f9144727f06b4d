//! Packs for tests: written as directories, archives and repositories, and the state that an install leaves.

use crate::support::TestEnv;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

/// A persona that names a sidecar.
pub fn with_sidecar(id: &str) -> Value {
    json!({"id": id, "intent": id, "description": "d", "harness": "claude", "systemPrompt": "p", "claudeMd": format!("./{id}.md")})
}

/// Writes a pack below the test's root: a manifest of this version and these files.
pub fn pack(env: &TestEnv, dir: &str, version: &str, files: &[(&str, &str)]) -> PathBuf {
    let name = Path::new(dir).file_name().expect("a name").to_str().expect("text");
    let manifest =
        json!({"name": format!("@team/{name}"), "version": version, "scripts": {"prepack": "touch ran"}});
    env.write(format!("{dir}/package.json"), manifest.to_string());
    for (path, text) in files {
        env.write(format!("{dir}/{path}"), text);
    }
    env.root().join(dir)
}

/// Two personas, each with a sidecar.
pub fn two(env: &TestEnv, dir: &str) -> PathBuf {
    let (a, b) = (with_sidecar("a").to_string(), with_sidecar("b").to_string());
    pack(
        env,
        dir,
        "1.0.0",
        &[
            ("personas/a.json", &a),
            ("personas/a.md", "A1\n"),
            ("personas/b.json", &b),
            ("personas/b.md", "B1\n"),
        ],
    )
}

/// Every file below a directory with its content; nothing where there is no such directory.
pub fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(at) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&at) else { continue };
        for entry in entries {
            let path = entry.expect("readable").path();
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            } else {
                let inside = path.strip_prefix(dir).expect("below").display().to_string();
                let bytes = std::fs::read(&path).unwrap_or_default();
                found.insert(inside, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    found
}

/// The names of the files below the project's personas.
pub fn installed(env: &TestEnv) -> Vec<String> {
    files(&env.root().join(PERSONAS)).into_keys().collect()
}

pub fn lock(env: &TestEnv) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/agentworkforce.lock"))).expect("JSON")
}

/// A program on a path of its own, before the usual one.
pub fn program(env: &mut TestEnv, name: &str, script: &str) {
    let file = env.write(format!("bin/{name}"), format!("#!/bin/sh\n{script}"));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let path = format!("{}:{}", env.root().join("bin").display(), std::env::var("PATH").unwrap_or_default());
    env.set_var("PATH", &path);
}

pub fn git(dir: &Path, words: &[&str]) -> String {
    let settings = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.args(settings).args(words).current_dir(dir);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", dir);
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// One entry of an archive, with whatever name and kind an attacker likes.
pub struct Entry<'a> {
    pub name: &'a str,
    pub kind: u8,
    pub link: &'a str,
    pub bytes: &'a [u8],
    /// What the header says of the size, where that is not the truth.
    pub size: Option<u64>,
}

impl<'a> Entry<'a> {
    pub fn file(name: &'a str, text: &'a str) -> Entry<'a> {
        Entry { name, kind: b'0', link: "", bytes: text.as_bytes(), size: None }
    }

    pub fn link(name: &'a str, kind: u8, link: &'a str) -> Entry<'a> {
        Entry { name, kind, link, bytes: b"", size: None }
    }
}

/// A tar archive, byte by byte: tools that are meant well refuse to write these.
pub fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, entry.name.as_bytes());
        put(100, b"0000644\0");
        put(108, b"0000000\0");
        put(116, b"0000000\0");
        put(124, format!("{:011o}\0", entry.size.unwrap_or(entry.bytes.len() as u64)).as_bytes());
        put(136, b"00000000000\0");
        put(148, b"        ");
        put(156, &[entry.kind]);
        put(157, entry.link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(entry.bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}
