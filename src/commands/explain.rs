//! The one place where a room's typed error becomes an exit code and hints. The rooms say what happened; what that means for
//! a script and what the user can do next is decided here.

mod mount;
mod pack;
mod run;

pub use run::{failed_run, refused};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::error::FilesError;
use crate::files::owned::NotOurs;
use crate::host::HostError;
use crate::load::error::LoadError;
use crate::model::known_packs::install_hint;
use crate::model::selector::SelectorError;
use crate::model::tier::Tier;
use crate::mount::MountError;
use crate::pack::error::PackError;
use crate::run::LaunchError;
use crate::run::RunError;
use crate::session::SessionError;
use crate::skills::error::SkillError;
use crate::work::cycle::plan::NeedsMount;
use crate::work::cycle::prepare::InvalidContract;
use crate::workforce::WorkforceError;
use std::error::Error;

/// What a typed error means to the user.
struct Advice {
    exit: Exit,
    /// More causes than the chain of sources holds.
    causes: Vec<String>,
    hints: Vec<String>,
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<CommandError>() {
            Ok(explained) => return explained,
            Err(error) => error,
        };
        let mut chain = error.chain().map(ToString::to_string);
        let message = chain.next().unwrap_or_default();
        let causes: Vec<String> = chain.collect();
        let mut explained = CommandError::internal(message);
        explained.causes = causes;
        if let Some(advice) = error.chain().find_map(advice) {
            explained.exit = advice.exit;
            explained.causes.extend(advice.causes);
            explained.hints = advice.hints;
        }
        explained
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        CommandError::internal(error)
    }
}

/// A typed error in a command: explained as if it had come through `anyhow`.
macro_rules! explained {
    ($($error:ty),*) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                anyhow::Error::from(error).into()
            }
        })*
    };
}

explained!(
    FilesError,
    HostError,
    LaunchError,
    LoadError,
    MountError,
    PackError,
    RunError,
    SelectorError,
    SessionError,
    WorkforceError
);

/// One line for every room that has typed errors.
fn advice(error: &(dyn Error + 'static)) -> Option<Advice> {
    if let Some(error) = error.downcast_ref() {
        return Some(selector(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(files(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(load(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(workforce(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(run::run(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(run::launch(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::host(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::mount(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(mount::session(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(pack::advice(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(skill(error));
    }
    if let Some(InvalidContract { problems, hints }) = error.downcast_ref() {
        return Some(Advice { exit: Exit::Usage, causes: problems.clone(), hints: hints.clone() });
    }
    if error.downcast_ref::<NeedsMount>().is_some() {
        return Some(Advice::usage().hint("leave `--mount none` out"));
    }
    None
}

impl Advice {
    fn usage() -> Advice {
        Advice { exit: Exit::Usage, causes: Vec::new(), hints: Vec::new() }
    }

    fn exit(exit: Exit) -> Advice {
        Advice { exit, ..Advice::usage() }
    }

    fn cause(mut self, cause: impl std::fmt::Display) -> Advice {
        self.causes.push(cause.to_string());
        self
    }

    fn hint(mut self, hint: impl std::fmt::Display) -> Advice {
        self.hints.push(hint.to_string());
        self
    }
}

fn selector(error: &SelectorError) -> Advice {
    match error {
        SelectorError::NoPersona { .. } => Advice::usage()
            .hint("write it as `persona` or `persona@tier`; `agentworkforce list` shows the personas"),
        SelectorError::UnknownTier { nearest, .. } => {
            let names = Tier::ALL.map(Tier::name).join(", ");
            Advice::usage().hint(match nearest {
                Some(near) => format!("did you mean `{near}`? The tiers are {names}"),
                None => format!("the tiers are {names}"),
            })
        }
    }
}

fn skill(error: &SkillError) -> Advice {
    let SkillError::NotInCache { reason, .. } = error;
    let hints = vec!["run it again: what is missing in the cache is fetched again".to_owned()];
    Advice { exit: Exit::Internal, causes: vec![reason.clone()], hints }
}

fn files(error: &FilesError) -> Advice {
    match error {
        FilesError::CannotWrite { .. } => {
            Advice::usage().hint("check its permissions, or choose another home with `AGENT_WORKFORCE_HOME`")
        }
        FilesError::CannotEdit { problem, .. } => {
            let mut advice = Advice::usage().cause(problem);
            advice.hints.extend(problem.fix.clone());
            advice.hint("fix the file first; it was not changed")
        }
    }
}

fn load(error: &LoadError) -> Advice {
    let advice = Advice::usage();
    match error {
        LoadError::NotARepository { dir } => advice
            .cause(format!("{} is not in one", dir.display()))
            .hint("`--persona-ref` works inside a clone of the project"),
        LoadError::BrokenRepository { complaint }
        | LoadError::UntrustedRepository { complaint }
        | LoadError::UnreadableCommit { complaint, .. } => advice.cause(complaint),
        LoadError::NoSuchCommit { complaint, .. } => advice.cause(complaint).hint(
            "fetch it first: a shallow clone of a pull request has only the pull request's own commits",
        ),
        LoadError::AmbiguousCommit { .. } => advice
            .cause("a branch, a tag or an object has the same name as another one")
            .hint("write the whole name, such as `refs/remotes/origin/main`, or the whole hash"),
        LoadError::NoGit => advice.hint("install git"),
        LoadError::OutsideRepository { top, .. } => {
            advice.hint(format!("name a directory below {}", top.display()))
        }
        LoadError::HomeOfOthers { home, reason } => {
            let advice = advice.cause(reason);
            let elsewhere = "name a directory of your own in `AGENT_WORKFORCE_HOME`";
            match reason {
                NotOurs::Writable { .. } => advice.hint(format!(
                    "{elsewhere}, or look at what is in this one and run `chmod go-w {}`",
                    home.display()
                )),
                _ => advice.hint(elsewhere),
            }
        }
        LoadError::MissingObject { .. } => advice.hint("fetch the commit with its files, without `--filter`"),
        LoadError::HomeIsTheRepository
        | LoadError::NotACommit { .. }
        | LoadError::Git(_)
        | LoadError::LayerTooLarge { .. } => advice,
    }
}

fn workforce(error: &WorkforceError) -> Advice {
    let mut advice = Advice::usage();
    match error {
        WorkforceError::Ambiguous { ids, files, .. } => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            advice
                .cause(format!("the ids `{}` differ only in case in one layer", ids.join("` and `")))
                .hint(format!("change the id in one of {}", files.join(", ")))
        }
        WorkforceError::SharedName { ids, .. } => {
            advice.hint(format!("use the id of the one you mean: `{}`", ids.join("`, `")))
        }
        WorkforceError::NoSuchPersona { name, nearest, deleted, broken } => {
            if let Some(deleted) = deleted {
                let (when, backup) = (&deleted.when, deleted.backup.display());
                advice = advice.cause(format!("it was deleted on {when}; a copy is in {backup}"));
            }
            advice.causes.extend(broken.iter().take(3).map(|problem| problem.to_warning().message));
            if !broken.is_empty() {
                let count = if broken.len() == 1 { "a persona file" } else { "some persona files" };
                advice = advice
                    .hint(format!("{count} cannot be used, see above; `agentworkforce lint` shows all"));
            }
            advice.hints.extend(install_hint(name));
            if !nearest.is_empty() {
                advice = advice.hint(format!("did you mean `{}`?", nearest.join("`, `")));
            }
            advice.hint("`agentworkforce list` shows all personas")
        }
        WorkforceError::InvalidPersona { problems, .. } => {
            advice.causes = problems.iter().map(ToString::to_string).collect();
            advice.hints = problems.iter().filter_map(|problem| problem.fix.clone()).take(3).collect();
            advice
        }
        WorkforceError::Feature { config, .. } => advice
            .cause(config.display())
            .hint("`agentworkforce config unset features.<id>` removes it from the config"),
    }
}
