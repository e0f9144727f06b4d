//! `verify`: the verifier alone, for a continuous integration: a working tree against a git ref.

use super::work::say;
use super::work_observer::WorkObserverOf;
use crate::cli::VerifyArgs;
use crate::commands::observe::{RunObserver, Shown};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::selector::Selector;
use crate::run::request::ViewRequest;
use crate::ui::{Ui, printable};
use crate::work::contract::Standing;
use crate::work::cycle::prepare::{ContractPlace, of_file, text_at};
use crate::work::cycle::request::WorkRequest;
use crate::work::cycle::tree::{TreeRequest, commit_of, is_tracked, top_of, verify_tree};
use crate::workforce::Workforce;
use std::path::{Path, PathBuf};

pub fn run(args: &VerifyArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let root = top_of(&host.cwd).map_err(|_| {
        CommandError::usage("this is not a git repository").hint("`verify` compares with a git ref")
    })?;
    let base = commit_of(&root, &args.base).map_err(|error| {
        CommandError::usage(format!("{error}")).hint("fetch it, or name another `--base`")
    })?;
    let file = host.absolute(&args.contract);
    let inside = relative(&file, &root);
    let scratch = tempfile::Builder::new().prefix("aw-contract-").tempdir()?;
    // A contract that the work could have changed says nothing about it.
    let trusted = match &inside {
        Some(inside) => match text_at(&root, &base, &inside.to_string_lossy()) {
            Ok(text) => {
                let copy = scratch.path().join(inside.file_name().unwrap_or_default());
                std::fs::write(&copy, text)?;
                copy
            }
            Err(_) if is_tracked(&root, inside) => {
                let name = inside.display();
                return Err(CommandError::new(Exit::Refused, format!("{name} is not in `{}`", args.base))
                    .caused_by("the work under verification has added its own contract")
                    .hint(
                        "keep the contract outside of the work: in the base, or outside of the repository",
                    ));
            }
            Err(_) => file.clone(),
        },
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
        .filter_map(|path| relative(path, &root))
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

/// A path below the root.
fn relative(path: &Path, root: &Path) -> Option<PathBuf> {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    whole.strip_prefix(root).ok().map(Path::to_path_buf)
}
