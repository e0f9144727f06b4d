//! `pack`: checks a directory of personas and writes it as an archive for `install`.

use crate::cli::PackArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::atomic::{self, FileMode};
use crate::files::error::cannot_write;
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::model::text_rules::slugged;
use crate::pack::contents::{self, Contents, UnitKind};
use crate::pack::fetch::{Fetching, fetch};
use crate::pack::lockfile::hashes;
use crate::pack::source::PackSource;
use crate::pack::tree::Tree;
use crate::pack::write_archive;
use crate::ui::{Ui, printable};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files that are added to the archive besides the personas.
const DOCUMENTS: [&str; 7] =
    ["package.json", "README.md", "README", "LICENSE", "LICENSE.md", "LICENCE", "CHANGELOG.md"];

pub fn run(args: &PackArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let dir = host.absolute(&host.expand_tilde(&args.dir.to_string_lossy()));
    if !dir.is_dir() {
        return Err(CommandError::usage(format!("{} is not a directory", dir.display())));
    }
    let source = PackSource::Directory(dir.clone());
    let fetching = Fetching { host, time: Duration::MAX, stop: &|| false };
    let tree = fetch(&source, None, &fetching)?.tree;
    let contents = contents::read(&tree, &[])?;
    let name = contents.name.clone().unwrap_or_else(|| match slugged(&source.name()) {
        name if name.is_empty() => "personas".into(),
        name => name,
    });
    let version = contents.version.clone().unwrap_or_else(|| "0.0.0".into());
    let (paths, generated) = members(&tree, &contents, &name, &version);
    let bytes = write_archive::write(&tree, &paths, &generated)?;
    check(&bytes, &contents)?;
    let file_name = format!("{}-{version}.tgz", name.trim_start_matches('@').replace('/', "-"));
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(file_name));
    let out = host.absolute(&host.expand_tilde(&out.to_string_lossy()));
    if !args.dry_run {
        write(&out, &bytes, args.overwrite)?;
    }
    let ids: Vec<&str> = contents.units.iter().map(|unit| unit.id.as_str()).collect();
    let files: Vec<&String> = generated.iter().map(|(path, _)| path).chain(&paths).collect();
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 2, "dryRun": args.dry_run, "name": name, "version": version,
            "archive": path_text(&out), "bytes": bytes.len(), "ids": ids, "files": files,
            "warnings": [],
        }));
        return Ok(Exit::Done);
    }
    for file in &files {
        ui.line(printable(file));
    }
    let personas = contents.units.iter().filter(|unit| unit.kind == UnitKind::Persona).count();
    let word = if args.dry_run { "Would write" } else { "Wrote" };
    ui.line(printable(&format!(
        "{word} {} of {name} {version} to {}",
        counted(personas, "persona"),
        out.display()
    )));
    Ok(Exit::Done)
}

/// The paths that go into the archive, and a generated manifest where the pack has none.
fn members(
    tree: &Tree,
    contents: &Contents,
    name: &str,
    version: &str,
) -> (Vec<String>, Vec<(String, Vec<u8>)>) {
    let mut paths: BTreeSet<String> = contents.units.iter().flat_map(|unit| unit.origins.clone()).collect();
    paths.extend(DOCUMENTS.iter().filter(|path| tree.file(path).is_some()).map(ToString::to_string));
    let mut generated = Vec::new();
    if !paths.contains("package.json") {
        let dir = if contents.personas.is_empty() { "." } else { &contents.personas };
        let manifest = json!({"name": name, "version": version, "agentworkforce": {"personas": dir}});
        let mut text = serde_json::to_string_pretty(&manifest).expect("our own values always serialise");
        text.push('\n');
        generated.push(("package.json".to_owned(), text.into_bytes()));
    }
    (paths.into_iter().collect(), generated)
}

/// The archive must contain the same personas as the directory.
fn check(bytes: &[u8], contents: &Contents) -> Result<()> {
    let again = contents::read(&write_archive::read_back(bytes)?, &[])?;
    let all = |contents: &Contents| -> BTreeSet<String> {
        contents.units.iter().map(|unit| format!("{} {:?}", unit.id, hashes(unit))).collect()
    };
    if all(&again) == all(contents) {
        Ok(())
    } else {
        Err(CommandError::internal(
            "the archive does not contain what the directory does; nothing was written",
        ))
    }
}

fn write(out: &Path, bytes: &[u8], overwrite: bool) -> Result<()> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CommandError::usage(format!("{} already exists", out.display())).hint("`--overwrite` replaces it")
        }
        _ => cannot_write(out, error).into(),
    };
    let staged = atomic::stage(out, bytes, FileMode::Public { executable: false }).map_err(fail)?;
    let written = if overwrite { staged.commit() } else { staged.commit_new() };
    written.map_err(fail)
}
