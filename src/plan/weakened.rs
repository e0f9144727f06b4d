//! Warnings about a persona that weakens the protection of the defaults or of the user's config. They are given before the run; nothing
//! is changed.

use super::parts::RunFlags;
use crate::model::limits::Limits;
use crate::model::mount::Backend;
use crate::model::persona::Persona;
use crate::model::settings::Settings;
use crate::model::warning::{Warning, WarningCode};

pub(super) fn weakened(persona: &Persona, settings: &Settings, flags: &RunFlags) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut add = |code, text: String| found.push(Warning::new(code, text));
    let is_copy = |backend: Option<Backend>| matches!(backend, Some(Backend::Copy | Backend::None));
    if flags.mount.backend.is_none() && is_copy(persona.mount.backend) && !is_copy(settings.mount.backend) {
        add(
            WarningCode::Mount,
            "mount.backend of the persona: it works in a copy, without walls: the agent can read hidden files and write the real project by \
             their paths; `--mount auto` gives it walls where this machine can"
                .to_owned(),
        );
    }
    for (name, asked, config) in raised(persona.limits, settings.limits, flags.limits) {
        add(
            WarningCode::Power,
            format!("limits.{name} of the persona ({asked}) is more than the {config} of your config"),
        );
    }
    if persona.hermetic == Some(false) && settings.hermetic == Some(true) {
        let text =
            "hermetic of the persona: it sees what you have at user level, and your config says otherwise";
        add(WarningCode::Power, text.to_owned());
    }
    found
}

/// Limits of the config that the persona replaces with greater ones.
fn raised(persona: Limits, config: Limits, flags: Limits) -> Vec<(&'static str, String, String)> {
    fn more<T: Copy + PartialOrd + ToString>(
        asked: Option<T>,
        config: Option<T>,
        flag: Option<T>,
    ) -> Option<(String, String)> {
        let (asked, config) = (asked?, config?);
        (flag.is_none() && asked > config).then(|| (asked.to_string(), config.to_string()))
    }
    let all = [
        ("wallSeconds", more(persona.wall_seconds, config.wall_seconds, flags.wall_seconds)),
        ("idleSeconds", more(persona.idle_seconds, config.idle_seconds, flags.idle_seconds)),
        ("turns", more(persona.turns, config.turns, flags.turns)),
        ("usd", more(persona.usd, config.usd, flags.usd)),
        ("processes", more(persona.processes, config.processes, flags.processes)),
        ("memoryMb", more(persona.memory_mb, config.memory_mb, flags.memory_mb)),
        ("diskMb", more(persona.disk_mb, config.disk_mb, flags.disk_mb)),
    ];
    all.into_iter().filter_map(|(name, more)| more.map(|(asked, config)| (name, asked, config))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_less_than_before_is_told() {
        let mut persona = Persona::default();
        let mut settings = Settings::default();
        let flags = RunFlags::default();
        persona.limits.usd = Some(5.0);
        persona.hermetic = Some(false);
        assert_eq!(weakened(&persona, &settings, &flags), []);
        settings.limits.usd = Some(1.0);
        settings.hermetic = Some(true);
        persona.mount.backend = Some(Backend::Copy);
        assert_eq!(weakened(&persona, &settings, &flags).len(), 3);
        settings.mount.backend = Some(Backend::Copy);
        settings.limits.usd = Some(5.0);
        assert_eq!(weakened(&persona, &settings, &flags).len(), 1);
    }
}
