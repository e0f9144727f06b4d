//! The reader of sources finds every form of a path, and nothing that is not compiled into the program.

use super::source::Program;

fn program(files: &[(&str, &str)]) -> Program {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Program::read(dir.path())
}

/// The paths that `a/b.rs` names when this is its text.
fn named(text: &str) -> Vec<String> {
    let program = program(&[
        ("lib.rs", "mod a; mod c;"),
        ("a/mod.rs", "mod b; mod d;"),
        ("a/b.rs", text),
        ("a/d.rs", ""),
        ("c.rs", ""),
    ]);
    let file = program.files.iter().find(|file| file.path == "a/b.rs").unwrap();
    let mut found: Vec<String> = file
        .uses
        .iter()
        .map(|named| format!("{}{}", if named.is_ours { "crate::" } else { "" }, named.path.join("::")))
        .collect();
    found.sort();
    found
}

#[test]
fn every_form_of_a_use_is_understood() {
    assert_eq!(named("use crate::c::X;"), ["crate::c::X"]);
    assert_eq!(named("pub(crate) use crate::c as other;"), ["crate::c"]);
    assert_eq!(
        named("use crate::{a, c::{self, X as Y, deep::{Z, *}}};"),
        ["crate::a", "crate::c", "crate::c::X", "crate::c::deep", "crate::c::deep::Z"]
    );
    assert_eq!(named("use {\n    crate::c,\n    std::fs,\n};"), ["crate::c", "std::fs"]);
    assert_eq!(
        named("use super::d::X; use super::super::c; use self::e::F;"),
        ["crate::a::b::e::F", "crate::a::d::X", "crate::c"]
    );
    assert_eq!(named("use agentworkforce::c::X;"), ["crate::c::X"]);
    assert_eq!(named("use ::std::io;"), ["std::io"]);
}

#[test]
fn paths_in_code_macros_and_attributes_are_found() {
    assert_eq!(
        named("fn f() -> crate::c::T { super::d::g::<crate::c::U>(std::fs::read) }"),
        ["crate::a::d::g", "crate::c::T", "crate::c::U", "std::fs::read"]
    );
    assert_eq!(named("fn f() { format!(\"{}\", crate::c::X) }"), ["crate::c::X"]);
    assert_eq!(named("macro_rules! m { () => { $crate::c::X }; }"), ["crate::c::X"]);
    assert_eq!(named("#[serde(with = \"crate::c::w\")] struct S;"), ["crate::c::w"]);
    assert_eq!(
        named("mod inner { use super::X; use super::super::d; fn f() { crate::c::x() } }"),
        ["crate::a::b::X", "crate::a::d", "crate::c::x"]
    );
    assert_eq!(named("mod inner { pub fn f() {} } fn g() { inner::f() }"), ["crate::a::b::inner::f"]);
}

#[test]
fn comments_texts_and_tests_are_left_out() {
    assert!(
        named(
            "// use crate::c;\n/* crate::c */ /// crate::c::X\nfn f() { \"crate::c::X\"; r#\"crate::c\"#; }"
        )
        .is_empty()
    );
    assert!(named("#[cfg(test)] use crate::c::{X};").is_empty());
    assert!(named("#[cfg(test)] const A: crate::c::A = crate::c::A { x: 1 };").is_empty());
    assert_eq!(
        named("#[cfg(test)] #[allow(unused)] mod tests { use crate::c; } use crate::a;"),
        ["crate::a"]
    );
    assert_eq!(named("#[cfg(test)] fn f() { crate::c::x() } fn g() { crate::a::x() }"), ["crate::a::x"]);
    assert_eq!(
        named("impl X { #[cfg(test)] const fn f() { crate::c::x() } fn g() { crate::a::x() } }"),
        ["crate::a::x"]
    );
    assert_eq!(named("#[cfg(any(test, unix))] use crate::c;"), ["crate::c"]);
}

#[test]
fn files_that_are_only_compiled_for_tests_are_not_read() {
    let program = program(&[
        ("lib.rs", "#[cfg(test)] mod gone; mod a; #[cfg(test)] #[path = \"x.rs\"] mod also_gone;"),
        ("a.rs", "mod b; #[path = \"elsewhere.rs\"] mod c;"),
        ("a/b.rs", ""),
        ("elsewhere.rs", ""),
    ]);
    let files: Vec<(&str, String)> =
        program.files.iter().map(|file| (file.path.as_str(), file.module.join("::"))).collect();
    let expected = [("a.rs", "a"), ("a/b.rs", "a::b"), ("elsewhere.rs", "a::c"), ("lib.rs", "")];
    assert_eq!(files, expected.map(|(path, module)| (path, module.to_owned())));
}

#[test]
fn a_path_leads_through_re_exports_to_the_file_that_has_it() {
    let program = program(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; mod c; pub use b::X; pub use self::c::{Y as Z};"),
        ("a/b.rs", "pub struct X;"),
        ("a/c.rs", "pub struct Y;"),
    ]);
    let target = |path: &str| {
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        program.files[program.target(&path)].path.clone()
    };
    assert_eq!(target("a::X"), "a/b.rs");
    assert_eq!(target("a::Z::new"), "a/c.rs");
    assert_eq!(target("a::Own"), "a/mod.rs");
    assert_eq!(target("a::b::X"), "a/b.rs");
}
