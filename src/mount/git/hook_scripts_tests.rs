use super::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match *text {
            "fifo" => mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            text => fs::write(path, text).unwrap(),
        }
    }
    let places = of_hooks(&root.join(".git/hooks"), std::slice::from_ref(&root), None).paths;
    let places: BTreeSet<PathBuf> = places.iter().flat_map(|path| trail(path)).collect();
    let below = places.iter().filter_map(|path| path.strip_prefix(&root).ok());
    let below = below.filter(|path| !path.starts_with(".git") && root.join(path).exists());
    below.map(|path| path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn scripts_in_other_languages_are_read_too() {
    let hook =
        "#!/usr/bin/env node\nrequire(\"../../tools/check\");\nrequire(path.join(root, \"lib\", \"b.js\"))\n";
    let files = [
        (".git/hooks/pre-commit", hook),
        ("tools/check.js", "const a = require('./near'); const b = 'src/*';\n"),
        ("tools/near/index.js", "// see src/index.js\n"),
        ("lib/b.js", ""),
        ("src/index.js", ""),
    ];
    assert_eq!(found(&files), ["lib/b.js", "tools/check.js", "tools/near/index.js"]);
    let files = [
        (".git/hooks/pre-commit", "exec python3 tools/check.py"),
        ("tools/check.py", "from helper import x\nopen('docs/list.txt')\n"),
        ("tools/helper.py", ""),
        ("tools/other.py", ""),
        ("docs/list.txt", ""),
    ];
    assert_eq!(found(&files), ["tools/check.py", "tools/helper.py"]);
}

#[test]
fn neither_a_circle_nor_a_pipe_nor_a_large_file_stops_the_search() {
    let large = "a/b ".repeat(1 << 20);
    let files = [
        (".git/hooks/pre-commit", ". x/one.sh; . x/pipe.sh; . x/large.sh"),
        ("x/one.sh", ". x/two.sh"),
        ("x/two.sh", ". x/one.sh"),
        ("x/pipe.sh", "fifo"),
        ("x/large.sh", &large),
    ];
    assert_eq!(found(&files), ["x/large.sh", "x/one.sh", "x/pipe.sh", "x/two.sh"]);
}
