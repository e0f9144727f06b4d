//! Where a project keeps its layer, and whether two paths are the same place.

use std::path::Path;

/// The project layer, seen from the project's directory.
pub const PROJECT_DIR: &str = ".agentworkforce/workforce";

/// Whether two paths lead to one directory: the home may be named through a link.
pub fn same_directory(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
