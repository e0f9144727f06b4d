//! A path in a record on disk: text where it is Unicode, hexadecimal bytes where it is not.
//! It keeps every byte of a name; it says nothing about whether the path exists.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::ops::Deref;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A `PathBuf` that serialises without loss, whatever bytes an agent put into a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawPath(pub PathBuf);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes { hex: String },
}

impl RawPath {
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }
}

impl Deref for RawPath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for RawPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for RawPath {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl<T: Into<PathBuf>> From<T> for RawPath {
    fn from(path: T) -> Self {
        RawPath(path.into())
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Serialize for RawPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = match self.0.to_str() {
            Some(text) => Wire::Text(text.to_owned()),
            None => Wire::Bytes { hex: hexadecimal(self.as_bytes()) },
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Text(text) => Ok(RawPath(text.into())),
            Wire::Bytes { hex } => {
                let digits: Option<Vec<u8>> = hex
                    .chars()
                    .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
                    .collect();
                let digits = digits
                    .filter(|digits| digits.len() % 2 == 0)
                    .ok_or_else(|| D::Error::custom("a path in hexadecimal has an invalid digit"))?;
                let bytes = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
                Ok(RawPath(OsString::from_vec(bytes).into()))
            }
        }
    }
}

impl JsonSchema for RawPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawPath".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Wire::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_name_survives() {
        for bytes in [b"plain/name".as_slice(), b"\xff\x00\x7fodd", b"", "ünï".as_bytes()] {
            let path = RawPath::from(OsString::from_vec(bytes.to_vec()));
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<RawPath>(&text).unwrap(), path, "{text}");
        }
        assert_eq!(serde_json::to_string(&RawPath::from("a/b")).unwrap(), r#""a/b""#);
    }

    #[test]
    fn hexadecimal_that_is_none_is_an_error() {
        assert!(serde_json::from_str::<RawPath>(r#"{"hex":"f"}"#).is_err());
        assert!(serde_json::from_str::<RawPath>(r#"{"hex":"zz"}"#).is_err());
    }
}
