//! What a user types to name a persona: `<persona>[@<tier>]`.

use super::tier::Tier;
use super::words::nearest;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selector {
    pub name: String,
    pub tier: Option<Tier>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    #[error("`{selector}` names no persona")]
    NoPersona { selector: String },
    #[error("`{word}` is not a tier")]
    UnknownTier { word: String, nearest: Option<Tier> },
}

impl Selector {
    /// The split is at the first `@` after the name.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        let (name, tier) = match text.split_once('@') {
            Some((name, tier)) => (name.trim(), Some(tier)),
            None => (text.trim(), None),
        };
        if name.is_empty() {
            return Err(SelectorError::NoPersona { selector: text.to_owned() });
        }
        let tier = tier.map(parse_tier).transpose()?;
        Ok(Selector { name: name.to_owned(), tier })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.tier.map_or(Ok(()), |tier| write!(f, "@{}", tier.name()))
    }
}

fn parse_tier(text: &str) -> Result<Tier, SelectorError> {
    text.parse().map_err(|_| {
        let nearest = nearest(text, Tier::ALL.iter().map(|tier| tier.name()));
        let nearest = nearest.and_then(|name| name.parse().ok());
        SelectorError::UnknownTier { word: text.to_owned(), nearest }
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
        assert_eq!(
            parsed("a@bset"),
            Err(SelectorError::UnknownTier { word: "bset".into(), nearest: Some(Tier::Best) })
        );
    }
}
