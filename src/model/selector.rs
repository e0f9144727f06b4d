//! What a user types to name a persona: `<persona>[@<tier>]`.

use super::tier::Tier;
use super::words::nearest;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    pub name: String,
    pub tier: Option<Tier>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError {
    pub message: String,
    pub hint: String,
}

impl Selector {
    /// The split is at the first `@` after the name.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        let names = Tier::ALL.map(Tier::name).join(", ");
        let (name, tier) = match text.split_once('@') {
            Some((name, tier)) => (name.trim(), Some(tier)),
            None => (text.trim(), None),
        };
        if name.is_empty() {
            return Err(SelectorError {
                message: format!("`{text}` names no persona"),
                hint: "write it as `persona` or `persona@tier`; `agentworkforce list` shows them".into(),
            });
        }
        let tier = tier.map(|tier| parse_tier(tier, &names)).transpose()?;
        Ok(Selector { name: name.to_owned(), tier })
    }
}

fn parse_tier(text: &str, names: &str) -> Result<Tier, SelectorError> {
    text.parse().map_err(|_| {
        let near = nearest(text, Tier::ALL.iter().map(|tier| tier.name()));
        SelectorError {
            message: format!("`{text}` is not a tier"),
            hint: match near {
                Some(near) => format!("did you mean `{near}`? The tiers are {names}"),
                None => format!("the tiers are {names}"),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_name_and_perhaps_a_tier() {
        let parsed = |text: &str| Selector::parse(text).map(|selector| (selector.name, selector.tier));
        assert_eq!(parsed("debugger"), Ok(("debugger".into(), None)));
        assert_eq!(parsed("debugger@best"), Ok(("debugger".into(), Some(Tier::Best))));
        for bad in ["", "@best", "a@", "a@weird", "a@best@best", "a@Best"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
        assert!(Selector::parse("a@bset").unwrap_err().hint.starts_with("did you mean `best`"));
    }
}
