//! Names of directories that contain build output and dependencies. `view::heavy` decides whether one is left out.

use std::ffi::OsStr;

const NAMES: [&str; 26] = [
    "node_modules",
    "bower_components",
    "target",
    ".venv",
    "venv",
    "env",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".cache",
    ".npm-cache",
    ".gradle",
    ".tox",
    ".nox",
    ".terraform",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".nyc_output",
    "coverage",
];

pub(crate) fn is_heavy(name: &OsStr) -> bool {
    NAMES.iter().any(|known| name == *known)
}
