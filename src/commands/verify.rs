//! `verify`: the verifier alone, for a continuous integration: a working tree against a git ref.

use super::work::say;
use super::work_observer::WorkObserverOf;
use crate::cli::VerifyArgs;
use crate::commands::observe::{RunObserver, Shown};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::selector::Selector;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::run::request::ViewRequest;
use crate::ui::{Ui, printable};
use crate::work::contract::Standing;
use crate::work::cycle::prepare::{ContractPlace, of_file, text_at};
use crate::work::cycle::request::WorkRequest;
use crate::work::cycle::tree::{TreeRequest, commit_of, is_link_at, is_tracked, top_of, verify_tree};
use crate::workforce::Workforce;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on the way to the repository, as many as a kernel does.
const MOST_LINKS: usize = 40;

pub fn run(args: &VerifyArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let root = top_of(&host.cwd).map_err(|_| {
        CommandError::usage("this is not a git repository").hint("`verify` compares with a git ref")
    })?;
    let base = commit_of(&root, &args.base).map_err(|error| {
        CommandError::usage(format!("{error}")).hint("fetch it, or name another `--base`")
    })?;
    let file = host.absolute(&args.contract);
    let inside = place_below(&file, &root);
    let scratch = tempfile::Builder::new().prefix("aw-contract-").tempdir()?;
    // A contract that the work could have changed says nothing about it.
    let trusted = match &inside {
        Some(inside) => trusted_contract(inside, &root, (&base, &args.base), scratch.path())?,
        None => file.clone(),
    };
    let place = ContractPlace {
        root: &root,
        is_hidden: &|_| false,
        reference: inside.as_ref().map(|_| base.as_str()),
    };
    let ready = of_file(&trusted, place, &workforce.config.settings)?;
    for warning in &ready.warnings {
        ui.warning(printable(&warning.message));
    }
    if ready.standing == Standing::Draft {
        return Err(CommandError::new(Exit::Refused, "the contract is a draft")
            .hint("`agentworkforce contract approve FILE` approves it"));
    }
    let report = args.report.as_ref().map(|path| host.absolute(path));
    if let Some(missing) = report.as_ref().filter(|path| !path.is_file()) {
        return Err(CommandError::usage(format!("the report {} cannot be read", missing.display())));
    }
    let own_files: Vec<PathBuf> = [Some(&file), report.as_ref()]
        .into_iter()
        .flatten()
        .filter_map(|path| place_below(path, &root))
        .collect();
    let work = WorkRequest {
        contract: ready.contract,
        sha256: ready.sha256,
        standing: ready.standing,
        persona: Selector { name: String::new(), tier: None },
        view: ViewRequest::default(),
        apply: None,
        commit: false,
        uses_base: !args.no_base,
        offline: false,
        attended: false,
        resume: None,
    };
    let request = TreeRequest {
        host,
        settings: &workforce.config.settings,
        work: &work,
        root: &root,
        reference: &base,
        report: report.as_deref(),
        own_files: &own_files,
    };
    let speaks = !ui.is_json();
    let finished = {
        let runs = RunObserver::new(ui, host, Shown::Nothing);
        verify_tree(&request, &mut WorkObserverOf::new(runs, false, speaks))?
    };
    Ok(say(&finished, None, false, ui))
}

/// Where a contract that is in the repository can be read: as the base has it, at this very path. A link in the working tree could
/// choose another one.
fn trusted_contract(inside: &Path, root: &Path, base: (&str, &str), scratch: &Path) -> Result<PathBuf> {
    let ((commit, reference), name) = (base, printable(&inside.display().to_string()).to_string());
    let refused = |why: String| CommandError::new(Exit::Refused, why);
    let tree = Tree::open(root).map_err(CommandError::internal)?;
    for path in inside.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if tree.stat(path).ok().flatten().is_some_and(|stat| stat.kind == Kind::Symlink) {
            let link = path.display().to_string();
            return Err(refused(format!("{} is a link in the working tree", printable(&link)))
                .caused_by("the work under verification could choose its own contract by it")
                .hint("name the contract by its own path"));
        }
    }
    if is_link_at(root, commit, inside) {
        return Err(
            refused(format!("{name} is a link in `{reference}`")).hint("name the contract by its own path")
        );
    }
    match text_at(root, commit, &inside.to_string_lossy()) {
        Ok(text) => {
            let copy = scratch.join(inside.file_name().unwrap_or_default());
            std::fs::write(&copy, text)?;
            Ok(copy)
        }
        Err(_) if is_tracked(root, inside) => Err(refused(format!("{name} is not in `{reference}`"))
            .caused_by("the work under verification has added its own contract")
            .hint("keep the contract outside of the work: in the base, or outside of the repository")),
        Err(_) => Ok(root.join(inside)),
    }
}

/// A path below the root, as it is written there. Links outside of the root lead to it and are followed; none in it is.
fn place_below(path: &Path, root: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let mut current = PathBuf::new();
    let mut rest: Vec<OsString> = path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            current.pop();
            continue;
        }
        current.push(part);
        if current.starts_with(&root) || followed == MOST_LINKS {
            continue;
        }
        if let Ok(target) = current.read_link() {
            followed += 1;
            current.pop();
            // An absolute target begins with `/`, which replaces what is there.
            rest.extend(
                target
                    .components()
                    .rev()
                    .filter(|part| *part != Component::CurDir)
                    .map(|part| part.as_os_str().to_owned()),
            );
        }
    }
    current.strip_prefix(&root).ok().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_to_the_root_and_are_not_followed_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let root = dir.join("root");
        std::fs::create_dir_all(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("./root/link", dir.join("way")).unwrap();
        symlink(&root, dir.join("whole")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        let below = |path: &str| place_below(&dir.join(path), &root);
        assert_eq!(below("root/link/c.json"), Some("link/c.json".into()));
        assert_eq!(below("way/c.json"), Some("link/c.json".into()));
        assert_eq!(below("whole/real/c.json"), Some("real/c.json".into()));
        assert_eq!(below("whole/real/../c.json"), Some("c.json".into()));
        assert_eq!(below("root/../c.json"), None);
        assert_eq!(below("loop/c.json"), None);
    }
}
