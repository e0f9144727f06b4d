//! Reads the program's source as tokens and says which paths every file names, in whatever form: grouped, nested, relative,
//! inline, in a macro, in an attribute. Comments, texts and what is only compiled for tests are left out.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules of the library that are compiled into the program.
pub(super) struct Program {
    pub(super) files: Vec<SourceFile>,
    /// The file that each module is written in.
    modules: BTreeMap<Vec<String>, usize>,
}

pub(super) struct SourceFile {
    /// Below `src`.
    pub(super) path: String,
    pub(super) module: Vec<String>,
    pub(super) uses: Vec<Named>,
    pub(super) identifiers: BTreeSet<String>,
    /// Names followed by `!`.
    pub(super) macros: BTreeSet<String>,
    /// Names between `.` and `(`.
    pub(super) methods: BTreeSet<String>,
    /// Child modules that are files, with their path if it is not the usual one.
    children: Vec<(Vec<String>, Option<String>)>,
    /// Modules that are written inside this file.
    inline: BTreeSet<Vec<String>>,
}

/// A path as a file names it.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// Without `crate`, `self` and `super`: from the root of this crate, or of another one.
    pub(super) path: Vec<String>,
    pub(super) is_ours: bool,
    pub(super) line: usize,
    /// What a `use` calls it here.
    alias: Option<String>,
    module: Vec<String>,
}

impl Program {
    /// Everything that can be reached from `lib.rs`.
    pub(super) fn read(src: &Path) -> Program {
        let mut program = Program { files: Vec::new(), modules: BTreeMap::new() };
        let mut waiting = vec![(Vec::new(), src.join("lib.rs"))];
        while let Some((module, file)) = waiting.pop() {
            let text =
                std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let relative = file.strip_prefix(src).expect("below src").display().to_string();
            let source = SourceFile::parse(&relative, &module, &text);
            for (child, path) in &source.children {
                waiting.push((child.clone(), file_of(&file, &module, child, path.as_deref())));
            }
            program.modules.insert(module, program.files.len());
            program.files.push(source);
        }
        for source in &mut program.files {
            let children = &source.children;
            let is_child = |at: &[String], name: &String| {
                let child = [at, std::slice::from_ref(name)].concat();
                children.iter().any(|(known, _)| *known == child) || source.inline.contains(&child)
            };
            for named in &mut source.uses {
                named.make_absolute(&is_child);
            }
        }
        program.files.sort_by(|a, b| a.path.cmp(&b.path));
        program.modules =
            program.files.iter().enumerate().map(|(at, file)| (file.module.clone(), at)).collect();
        program
    }

    /// The file that a path leads to, also through what other files re-export.
    pub(super) fn target(&self, path: &[String]) -> usize {
        self.target_within(path, 8)
    }

    fn target_within(&self, path: &[String], depth: usize) -> usize {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]));
        let length = length.expect("the root is a module");
        let at = self.modules[&path[..length]];
        let Some(name) = path.get(length) else { return at };
        let is_name = |named: &&Named| {
            named.is_ours && named.module == path[..length] && named.alias.as_ref() == Some(name)
        };
        match self.files[at].uses.iter().find(is_name) {
            Some(named) if depth > 0 && named.path != path => {
                self.target_within(&[&named.path, &path[length + 1..]].concat(), depth - 1)
            }
            _ => at,
        }
    }
}

/// Where a child module is written.
fn file_of(parent: &Path, parent_module: &[String], child: &[String], path: Option<&str>) -> PathBuf {
    let dir = parent.parent().expect("a directory");
    if let Some(path) = path {
        return dir.join(path);
    }
    let stem = parent.file_stem().expect("a name");
    let mut base = if stem == "mod" || stem == "lib" { dir.to_owned() } else { dir.join(stem) };
    let below = &child[parent_module.len()..];
    base.extend(&below[..below.len() - 1]);
    let name = below.last().expect("a name");
    let file = base.join(format!("{name}.rs"));
    if file.exists() { file } else { base.join(name).join("mod.rs") }
}

impl SourceFile {
    pub(super) fn parse(path: &str, module: &[String], text: &str) -> SourceFile {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut file = SourceFile {
            path: path.to_owned(),
            module: module.to_vec(),
            uses: Vec::new(),
            identifiers: BTreeSet::new(),
            macros: BTreeSet::new(),
            methods: BTreeSet::new(),
            children: Vec::new(),
            inline: BTreeSet::new(),
        };
        file.walk(&tokens.into_iter().collect::<Vec<_>>(), module);
        file
    }

    /// The part of the program that the file belongs to.
    pub(super) fn room(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    fn walk(&mut self, tokens: &[TokenTree], module: &[String]) {
        let mut path_attribute = None;
        let mut at = 0;
        while at < tokens.len() {
            if let Some(attribute) = attribute(tokens, at) {
                if is_only_for_tests(&attribute) {
                    at = end_of_item(tokens, at);
                    continue;
                }
                path_attribute = path_of_attribute(&attribute).or(path_attribute);
                self.walk_attribute(&attribute, module);
                at += 2;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(word) if word == "mod" && is_ident(tokens, at + 1) => {
                    let child = [module, &[tokens[at + 1].to_string()]].concat();
                    match tokens.get(at + 2) {
                        Some(TokenTree::Group(body)) => {
                            self.inline.insert(child.clone());
                            self.walk(&body.stream().into_iter().collect::<Vec<_>>(), &child);
                        }
                        _ => self.children.push((child, path_attribute.take())),
                    }
                    at += 3;
                }
                // Not the `use<'a>` of a type.
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens, at + 1, '<') => {
                    let end =
                        (at..tokens.len()).find(|at| is_punct(tokens, *at, ';')).unwrap_or(tokens.len());
                    let mut found = Vec::new();
                    use_tree(&tokens[at + 1..end], &[], &mut found);
                    let line = word.span().start().line;
                    for (path, alias) in found {
                        self.identifiers.extend(path.iter().cloned());
                        self.uses.push(Named::new(path, Some(alias), line, module));
                    }
                    at = end + 1;
                }
                TokenTree::Ident(word) => {
                    let mut path = vec![word.to_string()];
                    let mut end = at + 1;
                    while is_punct(tokens, end, ':')
                        && is_punct(tokens, end + 1, ':')
                        && is_ident(tokens, end + 2)
                    {
                        path.push(tokens[end + 2].to_string());
                        end += 3;
                    }
                    self.identifiers.extend(path.iter().cloned());
                    if is_punct(tokens, end, '!') && !is_punct(tokens, end + 1, '=') {
                        self.macros.insert(path.last().expect("a name").clone());
                    }
                    let is_call = matches!(tokens.get(end), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                    if at > 0 && is_punct(tokens, at - 1, '.') && is_call {
                        self.methods.insert(word.to_string());
                    }
                    if path.len() > 1 {
                        self.uses.push(Named::new(path, None, word.span().start().line, module));
                    }
                    at = end;
                }
                TokenTree::Group(group) => {
                    self.walk(&group.stream().into_iter().collect::<Vec<_>>(), module);
                    at += 1;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
            }
        }
    }

    /// `#[serde(with = "crate::a::b")]` names a path too.
    fn walk_attribute(&mut self, attribute: &[TokenTree], module: &[String]) {
        if matches!(attribute.first(), Some(TokenTree::Ident(name)) if name == "doc") {
            return;
        }
        self.walk(attribute, module);
        for token in attribute {
            match token {
                TokenTree::Group(group) => {
                    self.walk_attribute(&group.stream().into_iter().collect::<Vec<_>>(), module);
                }
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    if let Ok(tokens) = text.trim_matches('"').parse::<TokenStream>() {
                        self.walk(&tokens.into_iter().collect::<Vec<_>>(), module);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Named {
    fn new(path: Vec<String>, alias: Option<String>, line: usize, module: &[String]) -> Named {
        Named { path, is_ours: false, line, alias, module: module.to_vec() }
    }

    fn make_absolute(&mut self, is_child: &dyn Fn(&[String], &String) -> bool) {
        let mut base = self.module.clone();
        let mut taken = 0;
        match self.path[0].as_str() {
            "crate" | "agentworkforce" => {
                base.clear();
                taken = 1;
            }
            "self" => taken = 1,
            "super" => {
                while self.path.get(taken).is_some_and(|word| word == "super") {
                    base.pop();
                    taken += 1;
                }
            }
            _ if is_child(&base, &self.path[0]) => {}
            _ => return,
        }
        self.is_ours = true;
        self.path = [&base, &self.path[taken..]].concat();
    }
}

fn is_ident(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Ident(_)))
}

fn is_punct(tokens: &[TokenTree], at: usize, expected: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

fn attribute(tokens: &[TokenTree], at: usize) -> Option<Vec<TokenTree>> {
    match tokens.get(at + 1) {
        Some(TokenTree::Group(group))
            if is_punct(tokens, at, '#') && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream().into_iter().collect())
        }
        _ => None,
    }
}

/// `cfg(test)`, or `cfg(all(test, ...))`.
fn is_only_for_tests(attribute: &[TokenTree]) -> bool {
    let text: String = attribute.iter().map(ToString::to_string).collect();
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text == "cfg(test)" || text == "test" || text.starts_with("cfg(all(test,")
}

fn path_of_attribute(attribute: &[TokenTree]) -> Option<String> {
    match attribute {
        [TokenTree::Ident(name), _, TokenTree::Literal(path)] if name == "path" => {
            Some(path.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

/// Behind the item that starts with the attribute at `at`.
fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while attribute(tokens, at).is_some() {
        at += 2;
    }
    // What ends with a semicolon may have braces before it.
    let mut start = at;
    while matches!(&tokens[start], TokenTree::Ident(word) if word == "pub")
        || matches!(tokens[start], TokenTree::Group(_))
    {
        start += 1;
    }
    let starts_with = |known: &str| matches!(&tokens[start], TokenTree::Ident(word) if word == known);
    let is_function =
        (start..start + 4).any(|at| matches!(tokens.get(at), Some(TokenTree::Ident(word)) if word == "fn"));
    let ends_with_semicolon = ["use", "const", "static", "type", "let"].into_iter().any(starts_with)
        && !(starts_with("const") && is_function);
    while at < tokens.len() {
        let is_body = matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        at += 1;
        if is_punct(tokens, at - 1, ';') || (is_body && !ends_with_semicolon) {
            break;
        }
    }
    at
}

/// The paths of a `use`, each with the name that it has afterwards.
fn use_tree(tokens: &[TokenTree], prefix: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut path = prefix.to_vec();
    let mut alias = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "as" => {
                alias = tokens.get(at + 1).map(ToString::to_string);
                at += 1;
            }
            // `a::{self}` is `a`.
            TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in
                    inner.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
                {
                    if !part.is_empty() {
                        use_tree(part, &path, found);
                    }
                }
                return;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
    if !path.is_empty() {
        let alias = alias.unwrap_or_else(|| path.last().expect("not empty").clone());
        found.push((path, alias));
    }
}
