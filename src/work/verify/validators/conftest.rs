//! `conftest.py`: hooks, fixtures for every test, fixtures that take the place of others, and code that acts when it is loaded.

use super::{Edit, Findings, Side, directory};
use crate::work::path_kind::{extension, file_name, is_test};
use std::collections::BTreeSet;

/// Hooks and fixtures for every test decide what the runner reports.
pub fn conftest(edit: &Edit, findings: &mut Findings) {
    if matches!(edit.after, Side::Unreadable) {
        return findings.major(edit.path, "is no readable text any more");
    }
    let own = own_modules(edit);
    let (before, after) = (powers(edit.before.text(), &own), powers(edit.after.text(), &own));
    for power in after.difference(&before) {
        let first = power.lines().next().unwrap_or_default();
        findings.major(
            edit.path,
            &format!("a hook, a fixture for every test, or code that acts on all of them: {first}"),
        );
    }
    if before.difference(&after).next().is_some() && after.is_subset(&before) {
        findings.major(edit.path, "a hook or a fixture for every test was removed");
    }
    for name in displaced(edit) {
        findings.major(edit.path, &format!("fixture `{name}` takes the place of another"));
    }
}

/// A module of tests is loaded before the others run: what it replaces when it is loaded, and what it stands in the place of, counts
/// for all of them.
pub fn test_module(edit: &Edit, findings: &mut Findings) {
    let own = own_modules(edit);
    let acting = |text: &'_ str| -> BTreeSet<String> {
        let names: BTreeSet<&str> = text.lines().flat_map(|line| imported(line, &own)).collect();
        let replaces = |line: &&str| {
            let is_double =
                ["lambda", "Mock(", ".start()", "setattr("].iter().any(|sign| line.contains(sign));
            is_double && patches(line, &names)
        };
        text.lines().filter(replaces).map(|line| line.trim_end().to_owned()).collect()
    };
    let before = acting(edit.before.text());
    for line in acting(edit.after.text()).difference(&before) {
        findings.major(edit.path, &format!("replaces code for all tests when it is loaded: {line}"));
    }
    // Below a directory of tests, which comes first where modules are looked for.
    let inner = edit.path.split_once('/').map(|(_, inner)| inner).filter(|inner| inner.contains('/'));
    let name = file_name(edit.path);
    let is_plain = !name.starts_with("test_") && !name.ends_with("_test.py") && name != "__init__.py";
    let is_new = matches!(edit.before, Side::Missing);
    if is_new && is_plain && inner.is_some_and(|inner| edit.evidence.base.paths.contains(inner)) {
        findings.major(edit.path, "stands in the place of a module of the project when tests run");
    }
}

/// The first parts of the modules that the project itself has.
fn own_modules<'t>(edit: &Edit<'t>) -> BTreeSet<&'t str> {
    let mut modules = BTreeSet::new();
    for path in edit.evidence.base.paths.iter().filter(|path| extension(path) == "py") {
        let mut parts = path.split('/').map(|part| part.strip_suffix(".py").unwrap_or(part));
        let first = parts.next().unwrap_or_default();
        modules.insert(first);
        if matches!(first, "src" | "lib" | "python") {
            modules.extend(parts.next());
        }
    }
    modules
}

/// New fixtures that stand for tests of the base in the place of one from further up, or of one that pytest brings.
fn displaced(edit: &Edit) -> Vec<String> {
    const BUILT_IN: [&str; 9] = [
        "monkeypatch",
        "tmp_path",
        "tmpdir",
        "capsys",
        "capfd",
        "caplog",
        "request",
        "recwarn",
        "tmp_path_factory",
    ];
    let here = directory(edit.path);
    let is_below = |path: &str, directory: &str| {
        directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
    };
    let base = &edit.evidence.base;
    // What is new in a new directory serves new tests.
    if !base.paths.iter().any(|path| is_test(path) && is_below(path, here)) {
        return Vec::new();
    }
    let old = fixtures(edit.before.text());
    let new = fixtures(edit.after.text()).into_iter().filter(|name| !old.contains(name));
    let above: BTreeSet<String> = base
        .texts
        .iter()
        .filter(|(path, _)| file_name(path) == "conftest.py" && *path != edit.path)
        .filter(|(path, _)| is_below(edit.path, directory(path)))
        .flat_map(|(_, text)| fixtures(text))
        .collect();
    new.filter(|name| BUILT_IN.contains(&name.as_str()) || above.contains(name)).collect()
}

/// The names of the fixtures of a file.
fn fixtures(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_fixture = false;
    for line in text.lines() {
        let plain = line.trim_start();
        if plain.starts_with('@') {
            is_fixture |= plain.contains("fixture");
        } else if let Some(rest) = plain.strip_prefix("async ").unwrap_or(plain).strip_prefix("def ") {
            if std::mem::take(&mut is_fixture) {
                let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                found.insert(name.to_owned());
            }
        } else if plain.starts_with("class ") {
            is_fixture = false;
        }
    }
    found
}

/// The names that a line imports from modules of the project.
fn imported<'t>(line: &'t str, own: &BTreeSet<&str>) -> Vec<&'t str> {
    let is_own = |module: &str| own.contains(module.trim().split('.').next().unwrap_or_default());
    let name = |part: &'t str| match part.split_once(" as ") {
        Some((_, name)) => name.trim(),
        None => part.trim().split('.').next().unwrap_or_default(),
    };
    if let Some((module, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
        let names = names.trim_matches(['(', ')', ' ']).split(',');
        return if is_own(module) { names.map(name).collect() } else { Vec::new() };
    }
    let modules = line.strip_prefix("import ").into_iter().flat_map(|rest| rest.split(','));
    modules.filter(|module| is_own(module)).map(name).collect()
}

/// Whether a line at the left edge changes code for all tests: `login.locked = …`, `setattr(…)`, `patch(…).start()`.
fn patches(line: &str, names: &BTreeSet<&str>) -> bool {
    let root = |text: &str| -> bool {
        let root = text.trim().split('.').next().unwrap_or_default();
        names.contains(root)
    };
    if let Some(arguments) = line.strip_prefix("setattr(") {
        return root(arguments.split(',').next().unwrap_or_default());
    }
    if line.contains(".start()") && line.contains("patch") || line.contains("MonkeyPatch()") {
        return true;
    }
    let Some((left, right)) = line.split_once('=') else { return false };
    let left = left.trim_end();
    let is_dotted = left.contains('.') && left.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    is_dotted && !right.starts_with('=') && root(left)
}

/// Blocks of a conftest that act on tests that do not ask for them, with their whole text.
fn powers(text: &str, own: &BTreeSet<&str>) -> BTreeSet<String> {
    const IMPORTED: [&str; 12] = [
        "pytest_runtest",
        "pytest_collection",
        "pytest_session",
        "pytest_configure",
        "pytest_unconfigure",
        "pytest_report",
        "pytest_terminal",
        "pytest_pyfunc_call",
        "pytest_generate_tests",
        "pytest_ignore_collect",
        "pytest_exception_interact",
        "pytest_itemcollected",
    ];
    let lines: Vec<&str> = text.lines().collect();
    let names: BTreeSet<&str> = lines.iter().flat_map(|line| imported(line, own)).collect();
    let mut found = BTreeSet::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        let plain = line.trim_start();
        let starts_block = !line.starts_with([' ', '\t'])
            && (plain.starts_with('@')
                || plain.starts_with("def ")
                || plain.starts_with("async def ")
                || plain.starts_with("class "));
        if !starts_block {
            let is_import = (plain.starts_with("from ") || plain.starts_with("import "))
                && IMPORTED.iter().any(|hook| plain.contains(hook));
            let is_setting = ["pytest_plugins", "collect_ignore"].iter().any(|name| plain.starts_with(name));
            let is_assigned = plain.starts_with("pytest_") && plain.contains('=');
            let ends = ["os._exit(", "sys.exit(", "pytest.exit(", "atexit.register("]
                .iter()
                .any(|call| plain.contains(call));
            let acts = ends || patches(plain, &names);
            if is_import || is_setting || is_assigned || acts && !plain.starts_with('#') {
                found.insert(plain.trim_end().to_owned());
            }
            index += 1;
            continue;
        }
        // Decorators, the definition, and what is indented below it.
        let start = index;
        let mut has_definition = false;
        while index < lines.len() {
            let line = lines[index];
            let is_definition =
                line.starts_with("def ") || line.starts_with("async def ") || line.starts_with("class ");
            let belongs = line.is_empty() || line.starts_with([' ', '\t', ')', ']', '#']);
            if index > start && !belongs && (has_definition || !(is_definition || line.starts_with('@'))) {
                break;
            }
            has_definition |= is_definition;
            index += 1;
        }
        let block: Vec<&str> =
            lines[start..index].iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        let block = block.join("\n");
        let squeezed: String = block.chars().filter(|c| !c.is_whitespace()).collect();
        let is_hook = block.lines().any(|line| {
            let line = line.strip_prefix("async ").unwrap_or(line);
            line.starts_with("def pytest_")
        });
        let ends = ["os._exit(", "pytest.exit(", "atexit.register("].iter().any(|call| block.contains(call));
        if is_hook || squeezed.contains("autouse=True") || squeezed.contains("hookimpl") || ends {
            found.insert(block);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        powers(text, &BTreeSet::from(["src", "login"])).len()
    }

    #[test]
    fn what_acts_on_all_tests_is_found() {
        for text in [
            "import src.login\nsrc.login.locked = lambda a: True\n",
            "from src import login\nlogin.locked = f\n",
            "from src import login as l\nsetattr(l, 'locked', f)\n",
            "mock.patch('src.login.locked').start()\n",
            "def pytest_runtest_call(item):\n    pass\n",
            "@pytest.fixture(\n    autouse=True,\n)\ndef f():\n    pass\n",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in [
            "import matplotlib\nmatplotlib.rcParams = {}\n",
            "os.environ['A'] = '1'\nsys.path.insert(0, 'src')\nX = 1\n",
            "from src import login\nDATA = login.load()\nassert login.a == 1\n",
            "@pytest.fixture\ndef f(monkeypatch):\n    monkeypatch.setattr(login, 'x', 1)\n",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn fixtures_are_found_by_name() {
        let text = "@pytest.fixture\ndef a():\n    pass\n\n@fixture(scope='module')\nasync def b():\n    pass\n\n@other\ndef c():\n    pass\n";
        assert_eq!(fixtures(text), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }
}
