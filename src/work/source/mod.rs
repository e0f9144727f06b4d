//! A little understanding of source text: what is code, string or comment, which lines are new, where functions and tests begin and
//! end. It parses no language: where it cannot tell, it finds less.

mod brackets;
mod functions;
mod line_diff;
mod mask;
#[cfg(test)]
mod tests;
mod tests_in;
mod tokens;

use super::path_kind;
pub use functions::{Function, functions};
pub use line_diff::{AddedLine, added_lines};
pub use mask::{comments, masked, without_strings};
pub use tests_in::{TestCase, inline_tests, test_cases, without_comments, without_ranges};
pub use tokens::tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    Rust,
    Python,
    /// JavaScript, TypeScript and what embeds them.
    Script,
    Go,
    /// Java, Kotlin, Scala, C#, C, C++, Swift, PHP: braces, `//` and `/* */`.
    Java,
    Ruby,
    Shell,
    /// YAML, TOML, Makefiles: `#` and strings within one line.
    Config,
}

impl Language {
    /// By the name of the file.
    pub fn of(path: &str) -> Option<Language> {
        Some(match path_kind::extension(path).as_str() {
            "rs" => Language::Rust,
            "py" | "pyi" => Language::Python,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => {
                Language::Script
            }
            "go" => Language::Go,
            "java" | "kt" | "kts" | "scala" | "cs" | "c" | "h" | "cc" | "cpp" | "hpp" | "swift" | "php" => {
                Language::Java
            }
            "rb" | "rake" => Language::Ruby,
            "sh" | "bash" | "bats" => Language::Shell,
            "yml" | "yaml" | "toml" | "cfg" | "ini" | "mk" => Language::Config,
            _ => match path_kind::file_name(path).to_lowercase().as_str() {
                "makefile" | "gnumakefile" | "justfile" | ".justfile" | "dockerfile" => Language::Config,
                "rakefile" | "gemfile" => Language::Ruby,
                _ => return None,
            },
        })
    }
}
