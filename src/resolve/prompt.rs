//! Composes the system prompt: identity, charter, job, in this order, so that stable parts come first.
//! The name stands only in the identity block, so a rename can never leave a stale one behind.

/// Who speaks: what the identity block says. Everything but the id may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    pub emoji: Option<&'a str>,
    pub label: Option<&'a str>,
    pub expertise: &'a [String],
}

impl Identity<'_> {
    /// A persona that says nothing about itself gets its prompt byte for byte as authored.
    fn is_silent(&self) -> bool {
        self.name.is_none() && self.emoji.is_none() && self.label.is_none() && self.expertise.is_empty()
    }

    fn block(&self) -> String {
        let name = self.name.unwrap_or(self.id);
        let mut block = match self.label {
            Some(label) => format!("# You are {name} ({label})\n\n"),
            None => format!("# You are {name}\n\n"),
        };
        let mut line = |key: &str, value: &str| block.push_str(&format!("- {key}: {value}\n"));
        line("Agent ID", self.id);
        if let Some(emoji) = self.emoji {
            line("Emoji", emoji);
        }
        if let Some(label) = self.label {
            line("Role", label);
        }
        if !self.expertise.is_empty() {
            line("Expertise", &self.expertise.join(", "));
        }
        block
    }
}

/// The system prompt of a run. `job` is the persona's own prompt with its inputs filled in.
pub fn compose(identity: &Identity, charter: Option<&str>, job: &str) -> String {
    if identity.is_silent() && charter.is_none() {
        return job.to_owned();
    }
    let mut prompt = identity.block();
    if let Some(charter) =
        charter.map(|text| text.trim_end_matches(['\n', '\r'])).filter(|text| !text.is_empty())
    {
        prompt.push_str("\n## Your Charter\n");
        prompt.push_str(charter);
        prompt.push('\n');
    }
    if !job.is_empty() {
        prompt.push('\n');
        prompt.push_str(job);
    }
    prompt
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn identity_charter_and_job_stand_in_this_order() {
        let expertise = ["a".to_owned(), "b".to_owned()];
        let identity = Identity {
            id: "dallas",
            name: Some("Dallas"),
            emoji: Some("🔧"),
            label: Some("Engineer"),
            expertise: &expertise,
        };
        assert_eq!(
            compose(&identity, Some("Build it.\n"), "Do this.\n"),
            "# You are Dallas (Engineer)\n\n- Agent ID: dallas\n- Emoji: 🔧\n- Role: Engineer\n- Expertise: a, b\n\n\
             ## Your Charter\nBuild it.\n\nDo this.\n"
        );
    }

    #[test]
    fn lines_with_nothing_to_say_are_left_out() {
        let identity = Identity { id: "x", emoji: Some("🔧"), ..Identity::default() };
        assert_eq!(compose(&identity, None, ""), "# You are x\n\n- Agent ID: x\n- Emoji: 🔧\n");
    }

    #[test]
    fn a_persona_without_identity_or_role_keeps_its_prompt_byte_for_byte() {
        let identity = Identity { id: "x", ..Identity::default() };
        let job = "\r\n  odd \t bytes $X\n\n";
        assert_eq!(compose(&identity, None, job), job);
    }
}
