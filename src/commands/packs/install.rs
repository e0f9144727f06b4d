//! `install`: adds the personas of a pack to a layer, with a lock beside them.

use super::installation::{Job, check};
use super::{Fetcher, locked, target_of};
use crate::cli::InstallArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::apply;
use crate::pack::lockfile::Lock;
use crate::pack::source::PackSource;
use crate::ui::Ui;
use crate::workforce::Workforce;

pub fn run(args: &InstallArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
    if !args.dry_run {
        apply::recover(&target)?;
    }
    let fetcher = Fetcher::new(host, args.timeout)?;
    let job = Job { args, workforce: &workforce, target: &target, fetcher: &fetcher };
    match &args.source {
        Some(source) => install_source(&job, source, ui),
        None => locked::restore(&job, ui),
    }
}

fn install_source(job: &Job<'_>, text: &str, ui: &mut Ui) -> Result<Exit> {
    let host = &job.workforce.host;
    let source = PackSource::parse(text, host)?;
    let is_also_directory =
        matches!(source, PackSource::Npm(_)) && host.cwd.join(text).is_dir() && !text.starts_with("npm:");
    let ambiguous =
        is_also_directory.then(|| format!("`{text}` is read as an npm package; `./{text}` is the directory"));
    let before = Lock::read(&job.target.personas)?;
    let fetched = job.fetcher.fetch(&source, None, ui);
    let fetched = fetched.map_err(|error| error.maybe_hint(ambiguous.clone()))?;
    let mut wanted = job.args.persona.clone();
    wanted.sort();
    wanted.dedup();
    let mut checked = check(source, &fetched, &wanted)?;
    if job.args.locked {
        let known = locked::pack_of(job, &before, &checked.name)?;
        if wanted.is_empty() && !known.selected.is_empty() {
            checked = check(checked.source, &fetched, &known.selected)?;
        }
        locked::refuse_drift(job, &checked, known)?;
    }
    let mut outcome = job.install(checked, &wanted, ui)?;
    if let Some(text) = ambiguous {
        outcome.warnings.insert(0, Warning::new(WarningCode::AmbiguousSource, text));
    }
    job.report(&[outcome], ui)
}
