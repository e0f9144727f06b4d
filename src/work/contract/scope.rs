//! What a contract allows to change.

use super::glob::{Glob, is_pattern};
use crate::model::contract::{Contract, WorkMode};
use crate::model::settings::Settings;
use crate::work::path_kind;

/// Which paths may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    rules: Rules,
    /// In `breezing` it is the lead's.
    plan_file: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rules {
    /// As the contract lists them.
    Listed(Vec<Entry>),
    /// Everything but what judges the work, lock files and CI files.
    Ordinary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// As it was written.
    text: String,
    /// Without `./` and the slash at its end.
    path: String,
    is_directory: bool,
    /// Everything below included, for a directory.
    glob: Option<Glob>,
}

impl Entry {
    fn new(text: &str) -> Entry {
        let mut plain = text.trim();
        while let Some(rest) = plain.strip_prefix("./") {
            plain = rest;
        }
        let path = plain.trim_end_matches('/');
        let is_directory = plain.ends_with('/') || matches!(path, "" | ".");
        let path = if path == "." { "" } else { path };
        let below = if is_directory { format!("{path}/**") } else { path.to_owned() };
        let glob = is_pattern(path).then(|| Glob::new(&below));
        Entry { text: text.trim().to_owned(), path: path.to_owned(), is_directory, glob }
    }

    fn allows(&self, path: &str) -> bool {
        let is_below = || path.strip_prefix(self.path.as_str()).is_some_and(|rest| rest.starts_with('/'));
        // A name may contain brackets: what is written out is meant, too.
        let is_named = if self.is_directory { self.path.is_empty() || is_below() } else { path == self.path };
        is_named || self.glob.as_ref().is_some_and(|glob| glob.matches(path))
    }
}

impl Scope {
    /// With the default plan file; see [`Scope::with_plan_file`].
    pub fn of(contract: &Contract) -> Scope {
        let rules = match &contract.files {
            Some(files) => Rules::Listed(files.iter().map(|text| Entry::new(text)).collect()),
            None => Rules::Ordinary,
        };
        let is_led = contract.mode == WorkMode::Breezing;
        Scope { rules, plan_file: is_led.then(|| Settings::PLANS_FILE.to_owned()) }
    }

    /// With the configured plan file.
    #[must_use]
    pub fn with_plan_file(mut self, path: &str) -> Scope {
        self.plan_file = self.plan_file.map(|_| path.trim_start_matches("./").to_owned());
        self
    }

    /// Whether the path, relative to the project, may change.
    pub fn allows(&self, path: &str) -> bool {
        let is_outside = |part: &str| part == ".." || part.eq_ignore_ascii_case(".git");
        if path.is_empty() || path.starts_with('/') || path.split('/').any(is_outside) {
            return false;
        }
        match &self.rules {
            Rules::Listed(entries) => entries.iter().any(|entry| entry.allows(path)),
            Rules::Ordinary => {
                let is_special = path_kind::is_runner_configuration(path)
                    || path_kind::is_lock_file(path)
                    || path_kind::is_ci(path)
                    || self.plan_file.as_deref() == Some(path);
                !is_special
            }
        }
    }

    /// Whether the contract lists what may change.
    pub fn is_listed(&self) -> bool {
        matches!(self.rules, Rules::Listed(_))
    }

    /// Whether an entry is exactly this path: then the contract means this very file.
    pub fn names(&self, path: &str) -> bool {
        match &self.rules {
            Rules::Listed(entries) => entries.iter().any(|entry| !entry.is_directory && entry.path == path),
            Rules::Ordinary => false,
        }
    }

    /// For people and workers, in one line.
    pub fn describe(&self) -> String {
        match &self.rules {
            Rules::Listed(entries) => {
                let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
                texts.join(", ")
            }
            Rules::Ordinary => {
                let plan = self.plan_file.as_ref().map(|file| format!(", and {file}")).unwrap_or_default();
                format!(
                    "everything except configuration of test runners and linters, lock files and CI files{plan}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::contract::{ShortForm, short};

    fn scope(files: Option<&[&str]>) -> Scope {
        let form = ShortForm {
            task: "x".into(),
            files: files.unwrap_or_default().iter().map(|file| (*file).to_owned()).collect(),
            ..ShortForm::default()
        };
        Scope::of(&short(&form, &|_| false).unwrap().contract)
    }

    #[test]
    fn entries_are_paths_directories_and_patterns() {
        let cases: [(&str, &[&str], &[&str]); 7] = [
            (
                "src/login.js",
                &["src/login.js"],
                &["login.js", "a/src/login.js", "src/login.js/x", "src/login.jsx"],
            ),
            ("README.md", &["README.md"], &["docs/README.md", "readme.md"]),
            ("./tests/", &["tests/a.js", "tests/a/b.js"], &["tests", "tests2/a.js", "src/tests/a.js"]),
            ("src/*.js", &["src/a.js"], &["src/a/b.js"]),
            (
                "packages/*/src/",
                &["packages/a/src/x", "packages/a/src/x/y"],
                &["packages/a/b/src/x", "packages/a/src"],
            ),
            ("app/[id]/page.tsx", &["app/[id]/page.tsx", "app/i/page.tsx"], &["app/x/page.tsx"]),
            ("./", &["a", "src/b"], &[".git/config", "a/.git/x", "../a", "/etc/passwd", ""]),
        ];
        for (entry, allowed, refused) in cases {
            let scope = scope(Some(&[entry]));
            for path in allowed {
                assert!(scope.allows(path), "{entry} {path}");
            }
            for path in refused {
                assert!(!scope.allows(path), "{entry} {path}");
            }
        }
    }

    #[test]
    fn without_a_list_everything_but_what_judges_may_change() {
        let scope = scope(None);
        for path in ["src/a.js", "package.json", "tests/test_a.py", "Plans.md"] {
            assert!(scope.allows(path), "{path}");
        }
        for path in [
            "jest.config.js",
            "package-lock.json",
            ".github/workflows/ci.yml",
            "a/conftest.py",
            ".git/hooks/x",
        ] {
            assert!(!scope.allows(path), "{path}");
        }
    }

    #[test]
    fn the_plan_file_is_the_leads_in_breezing() {
        let form = ShortForm { task: "x".into(), mode: Some("breezing".into()), ..ShortForm::default() };
        let contract = short(&form, &|_| false).unwrap().contract;
        assert!(!Scope::of(&contract).allows("Plans.md"));
        let other = Scope::of(&contract).with_plan_file("./docs/Plan.md");
        assert!(other.allows("Plans.md") && !other.allows("docs/Plan.md"));
        assert!(other.describe().ends_with("CI files, and docs/Plan.md"));
    }

    #[test]
    fn a_scope_says_what_it_is() {
        let scope = scope(Some(&["src/a.js", "tests/"]));
        assert_eq!(scope.describe(), "src/a.js, tests/");
        assert!(scope.names("src/a.js") && !scope.names("tests/x") && scope.is_listed());
    }
}
