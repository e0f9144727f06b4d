//! `docs/security.md`: every test that it names exists, and every file of attacks is named.

use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The tests that the page names, as area and name.
fn named() -> BTreeSet<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let names = text.split('`').filter_map(|piece| piece.strip_prefix("attacks::")?.split_once("::"));
    names.map(|(area, name)| (area.to_owned(), name.to_owned())).collect()
}

fn attacks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/attacks")
}

#[test]
fn every_test_that_the_page_names_exists() {
    let named = named();
    assert!(named.len() > 20, "too few to be true: {named:?}");
    let is_missing = |(area, name): &&(String, String)| {
        let text = std::fs::read_to_string(attacks().join(format!("{area}.rs"))).unwrap_or_default();
        !text.contains(&format!("#[test]\nfn {name}() {{"))
    };
    let missing: Vec<_> = named.iter().filter(is_missing).collect();
    assert_eq!(missing, Vec::<&(String, String)>::new());
}

#[test]
fn every_file_of_attacks_is_on_the_page() {
    let areas: BTreeSet<String> = named().into_iter().map(|(area, _)| area).collect();
    let files = std::fs::read_dir(attacks()).expect("the attacks").flatten();
    let stems = files.filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()));
    let own = ["mod", "page"];
    let files: BTreeSet<String> = stems.filter(|stem| !own.contains(&stem.as_str())).collect();
    assert_eq!(areas, files);
}
