use super::*;
use proptest::prelude::*;

const ALL: [Language; 8] = [
    Language::Rust,
    Language::Python,
    Language::Script,
    Language::Go,
    Language::Java,
    Language::Ruby,
    Language::Shell,
    Language::Config,
];

#[test]
fn strings_and_comments_are_blanked() {
    let cases = [
        (Language::Rust, r#"a("x // y"); // z"#, r#"a("      ");     "#),
        (Language::Rust, r##"r#"a"b"# + 'x' + '"' + b"\"" 'a f"##, r##"r#"   "# + ' ' + ' ' + b"  " 'a f"##),
        (Language::Rust, "a /* b /* c */ d */ e", "a                   e"),
        (Language::Python, "x = '''a\n# b''' # c", "x = ''' \n   '''    "),
        (Language::Python, "x = 'it\\'s' + \"#\"", "x = '     ' + \" \""),
        (Language::Script, "a(`x ${b('y')} z`) // c", "a(`  ${b(' ')}  `)     "),
        (Language::Script, "x = /[/'\"]/.test(y) / 2 / z", "x = /     /.test(y) / 2 / z"),
        (Language::Go, "a := `x\n\"y`; b := \"\\\"\"", "a := ` \n  `; b := \"  \""),
        (Language::Java, "a = \"\"\"\n x\"y \"\"\" + 'c'", "a = \"\"\"\n     \"\"\" + ' '"),
        (Language::Ruby, "a = 'x' # y\n=begin\nb\n=end\nc", "a = ' '    \n      \n \n    \nc"),
        (Language::Shell, "echo 'a' $# \"b\" # c", "echo ' ' $# \" \"    "),
        (Language::Config, "a: \"b\" # c\nit's: d", "a: \" \"    \nit's: d"),
    ];
    for (language, text, expected) in cases {
        assert_eq!(masked(text, language), expected, "{text}");
    }
    assert_eq!(comments("a # b", Language::Python), "  # b");
    assert_eq!(without_strings("a('x') # b", Language::Python), "a(' ') # b");
}

proptest! {
    #[test]
    fn masking_keeps_length_and_lines(text in "[a-zé'\"`/*#\\\\{}$\n r=]{0,120}") {
        for language in ALL {
            let mask = masked(&text, language);
            prop_assert_eq!(mask.len(), text.len());
            prop_assert_eq!(mask.matches('\n').count(), text.matches('\n').count());
            let _ = functions(&text, language);
            let _ = test_cases(&text, language);
        }
        let _ = inline_tests(&text);
    }

    #[test]
    fn code_like_text_does_not_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "fn a() {", "}", "def b():\n", "  ", "it('x', () => {", "})", "#[test]\n", "#[cfg(test)]", "mod t {", "func (r R) T() {", "class A {", "é", "\"", "(", "\n", "end", "const f = () => {",
    ]), 0..40)) {
        let text = parts.concat();
        for language in ALL {
            let _ = functions(&text, language);
            let _ = test_cases(&text, language);
        }
        let _ = inline_tests(&text);
    }

    #[test]
    fn added_lines_are_lines_of_the_new_text(before in "[ab\n]{0,60}", after in "[ab\n]{0,60}") {
        let lines: Vec<&str> = after.lines().collect();
        for line in added_lines(&before, &after) {
            prop_assert_eq!(lines[line.number - 1], line.text);
        }
        prop_assert!(added_lines(&after, &after).is_empty());
    }
}

fn bodies(text: &str, language: Language) -> Vec<(String, String, usize, bool)> {
    functions(text, language)
        .into_iter()
        .map(|function| {
            (function.name, text[function.body].trim().to_owned(), function.line, function.is_public)
        })
        .collect()
}

fn body(name: &str, body: &str, line: usize, is_public: bool) -> (String, String, usize, bool) {
    (name.to_owned(), body.to_owned(), line, is_public)
}

#[test]
fn functions_are_found_with_their_bodies() {
    let rust =
        "pub fn a<T: Into<u8>>(x: [u8; 2]) -> Option<T> { todo!() }\ntrait B { fn c(); }\nfn d() { \"}\"; }";
    assert_eq!(bodies(rust, Language::Rust), [body("a", "todo!()", 1, true), body("d", "\"}\";", 3, false)]);
    let python = "def a(x: int = 1) -> str:\n    pass\n\nclass B:\n    async def _c(self):\n        if x:\n            y\n\n    z = 1\ndef one(): return None\n";
    let expected = [
        body("a", "pass", 1, true),
        body("_c", "if x:\n            y", 5, false),
        body("one", "return None", 10, true),
    ];
    assert_eq!(bodies(python, Language::Python), expected);
    let script = "export function a() { return null }\nclass B { c(x) { d(x); } async e(): Promise<void> { } }\nexport const f = async (x) => { g() };\nlist.forEach((x) => { h(x) });\nif (a) { b }";
    let expected = [
        body("a", "return null", 1, true),
        body("c", "d(x);", 2, false),
        body("e", "", 2, false),
        body("f", "g()", 3, true),
    ];
    assert_eq!(bodies(script, Language::Script), expected);
    let go =
        "func (r *R) Get(x interface{}) interface{} { return nil }\nfunc b() {}\ntype I interface { C() }";
    assert_eq!(bodies(go, Language::Go), [body("Get", "return nil", 1, true), body("b", "", 2, false)]);
    let java = "class A {\n  public int get(int x) throws E { return 1; }\n  abstract void b();\n  void c() { if (x) { d(); } }\n}";
    assert_eq!(
        bodies(java, Language::Java),
        [body("get", "return 1;", 2, true), body("c", "if (x) { d(); }", 4, false)]
    );
    assert_eq!(bodies("def a(x)\n  b\nend\n", Language::Ruby), [body("a", "b", 1, true)]);
}

#[test]
fn tests_are_found_with_their_names() {
    let names = |text: &str, language| {
        test_cases(text, language).into_iter().map(|case| (case.name, case.body)).collect::<Vec<_>>()
    };
    let pair = |name: &str, body: &str| (name.to_owned(), body.to_owned());
    assert_eq!(
        names("it('a b', () => {\n  x(1) // y\n})\ntest.skip(\"c\", d)\nsubmit('x')", Language::Script),
        [pair("a b", "() => { x(1) }"), pair("c", "d")]
    );
    assert_eq!(
        names("def test_a():\n    assert 1\ndef b(): pass", Language::Python),
        [pair("test_a", "assert 1")]
    );
    assert_eq!(
        names("#[test]\n#[should_panic]\nfn a() { b() }\nfn c() {}", Language::Rust),
        [pair("a", "b()")]
    );
    assert_eq!(
        names("func TestA(t *testing.T) { x() }\nfunc TestMain(m *testing.M) {}", Language::Go),
        [pair("TestA", "x()")]
    );
    assert_eq!(
        names("class A {\n  @Test\n  void a() { b(); }\n  void c() {}\n}", Language::Java),
        [pair("a", "b();")]
    );
}

#[test]
fn inline_tests_of_rust_are_found() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() { \"}\" ; }\n}\nfn c() {}\n#[cfg(test)]\nuse x::Y;\n";
    let found: Vec<&str> = inline_tests(text).into_iter().map(|range| &text[range]).collect();
    assert_eq!(
        found,
        ["#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() { \"}\" ; }\n}", "#[cfg(test)]\nuse x::Y;"]
    );
    assert_eq!(without_ranges(text, &inline_tests(text)).matches("fn").count(), 2);
    assert!(inline_tests("#[cfg(not(test))]\nfn a() {}\n// #[cfg(test)] mod x {}\n").is_empty());
}

#[test]
fn new_lines_are_found() {
    let numbers = |before: &str, after: &str| {
        added_lines(before, after).into_iter().map(|line| line.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers("a\nb\nc\n", "a\nx\nb\nc\ny\n"), [2, 5]);
    assert_eq!(numbers("", "a\nb\n"), [1, 2]);
    assert_eq!(numbers("a\n", ""), Vec::<usize>::new());
    let many: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let reversed: String = (0..20_001).rev().map(|n| format!("{n}\n")).collect();
    assert_eq!(numbers(&many, &reversed), [1]);
}

#[test]
fn hostile_text_is_cheap() {
    for part in [
        "it('a',(",
        "fn a(){",
        "def a():\n ",
        "/",
        "/*",
        "`${",
        "'",
        "r#\"",
        "#[cfg(test)]{",
        "(",
        "{",
        "func (",
        "=> {",
        "const a = (b) => {",
    ] {
        let text = part.repeat(200_000 / part.len());
        for language in ALL {
            let _ = functions(&text, language);
            let _ = test_cases(&text, language);
        }
        let _ = inline_tests(&text);
    }
}
