//! The words by which tests are skipped, narrowed or emptied, per language. Looks at one line of masked code at a time.

use crate::work::source::Language;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Marker {
    /// The test does not run.
    Skip,
    /// Other tests do not run.
    Only,
    /// It cannot fail.
    AlwaysTrue,
}

/// What a line of a test file holds, strings and comments blanked.
pub fn marker(line: &str, language: Language) -> Option<Marker> {
    let compact: String = line.chars().filter(|c| !c.is_whitespace()).take(2000).collect();
    if compact.is_empty() {
        return None;
    }
    let has = |signs: &[&str]| signs.iter().any(|sign| occurs(&compact, sign));
    let skips = match language {
        Language::Script => {
            has(&[
                "if(false)",
                "if(0)",
                "if(false&&",
                "xit(",
                "xtest(",
                "xdescribe(",
                "xcontext(",
                "skip:true",
                "todo:true",
                "this.skip(",
                ".skip=true",
            ]) || ["it", "test", "describe", "context", "suite", "specify", "t", "concurrent", "sequential"]
                .iter()
                .any(|callee| {
                    [
                        ".skip(",
                        ".skip.each(",
                        ".skipIf(",
                        ".runIf(false",
                        ".todo(",
                        ".failing(",
                        ".fails(",
                        ".fixme(",
                    ]
                    .iter()
                    .any(|part| occurs(&compact, &format!("{callee}{part}")))
                })
        }
        Language::Python => has(&[
            "ifFalse:",
            "if0:",
            "pytest.mark.skip",
            "pytest.mark.xfail",
            "mark.skip",
            "mark.xfail",
            "pytest.skip(",
            "pytest.xfail(",
            "unittest.skip",
            "@skip",
            "skipTest(",
            ".skipTest(",
            ".SkipTest",
            ".expectedFailure",
            "expectedFailure",
            "__test__=False",
            "SkipTest",
            "collect_ignore",
        ]),
        Language::Rust => has(&[
            "#[ignore",
            "#[cfg(any())]",
            "#![cfg(any())]",
            "#![cfg(false)]",
            "#[cfg_attr(all(),ignore",
            "#[cfg_attr(test,ignore",
            "#[cfg_attr(not(any()),ignore",
            "iffalse{",
            "iffalse&&",
            "#[cfg(FALSE)]",
            "#[cfg(never)]",
            "#[cfg(not(all()))]",
            "#[cfg(false)]",
            "#[should_panic",
        ]),
        Language::Go => has(&["iffalse{", "iffalse&&", "t.Skip(", "t.SkipNow(", "t.Skipf(", "b.Skip("]),
        Language::Java => has(&[
            "@Disabled",
            "@Ignore",
            "[Ignore",
            "markTestSkipped(",
            "markTestIncomplete(",
            "XCTSkip",
            "GTEST_SKIP(",
        ]),
        Language::Ruby => {
            let text = line.trim();
            has(&["xdescribe", "xcontext", "xit("])
                || text == "skip"
                || text.starts_with("skip ")
                || text.starts_with("pending ")
                || text.starts_with("xit ")
        }
        Language::Shell => compact == "skip" || line.trim().starts_with("skip "),
        Language::Config => false,
    };
    if skips {
        return Some(Marker::Skip);
    }
    let narrows = match language {
        Language::Script => {
            has(&["fit(", "fdescribe(", "fcontext(", "only:true"])
                || ["it", "test", "describe", "context", "suite", "specify"]
                    .iter()
                    .any(|callee| occurs(&compact, &format!("{callee}.only(")))
        }
        Language::Ruby => has(&["fdescribe", "fcontext"]) || line.trim().starts_with("fit "),
        _ => false,
    };
    if narrows {
        return Some(Marker::Only);
    }
    is_always_true(&compact, language).then_some(Marker::AlwaysTrue)
}

/// At the beginning of a word: `submit(` holds no `it(`.
fn occurs(text: &str, sign: &str) -> bool {
    let begins_with_word = sign.starts_with(|c: char| c.is_alphanumeric());
    text.match_indices(sign).any(|(at, _)| {
        !begins_with_word
            || !text[..at].ends_with(|c: char| {
                c.is_alphanumeric() || c == '_' || c == '$' || c == '.' && !sign.contains('.')
            })
            || sign.starts_with("mark.") && text[..at].ends_with("pytest.")
    })
}

fn is_always_true(compact: &str, language: Language) -> bool {
    let arguments = |callee: &str| -> Option<Vec<&str>> {
        let at = compact.find(callee)?;
        if compact[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let inside = compact[at + callee.len()..].split(')').next()?;
        (!inside.contains('(')).then(|| inside.split(',').collect())
    };
    let is_truth = |text: &str| {
        matches!(
            text,
            "true" | "True" | "1" | "!false" | "notFalse" | "1==1" | "1===1" | "true==true" | "true===true"
        )
    };
    let one = [
        "assert!(",
        "assert(",
        "assert.ok(",
        "assertTrue(",
        "self.assertTrue(",
        "assert.True(t,",
        "assert.isTrue(",
        "t.true(",
        "t.ok(",
        "t.pass(",
        "require.True(t,",
    ];
    if one
        .iter()
        .any(|callee| arguments(callee).is_some_and(|list| list.first().is_some_and(|first| is_truth(first))))
    {
        return true;
    }
    let two = [
        "assert_eq!(",
        "assertEqual(",
        "assertEquals(",
        "assert.equal(",
        "assert.strictEqual(",
        "assert.deepEqual(",
        "assert_equal(",
        "assert.Equal(t,",
        "require.Equal(t,",
        "t.is(",
        "t.deepEqual(",
    ];
    // A literal beside itself; a call beside itself may test that it is deterministic.
    let is_same = |list: &Vec<&str>| {
        list.len() >= 2 && list[0] == list[1] && !list[0].is_empty() && !list[0].contains(['"', '\'', '`'])
    };
    if two.iter().any(|callee| arguments(callee).is_some_and(|list| is_same(&list))) {
        return true;
    }
    let unlike = ["assert_ne!(", "assertNotEqual(", "assert.notEqual(", "assert.notStrictEqual("];
    let are_numbers = |list: &Vec<&str>| {
        list.len() >= 2 && list[0] != list[1] && list[..2].iter().all(|text| text.parse::<u64>().is_ok())
    };
    if unlike.iter().any(|callee| arguments(callee).is_some_and(|list| are_numbers(&list))) {
        return true;
    }
    let asserts = compact.contains("assert") || compact.contains("expect(");
    if asserts && language != Language::Python && (compact.contains("||true)") || compact.contains("(true||"))
    {
        return true;
    }
    match language {
        Language::Script if expects_literal(compact) => true,
        Language::Script => [
            "expect(true).toBe(true)",
            "expect(1).toBe(1)",
            "expect(true).toEqual(true)",
            "expect(true).toBeTruthy()",
            "expect(1).toEqual(1)",
            "expect(true).to.be.true",
            "expect(true).to.equal(true)",
        ]
        .iter()
        .any(|sign| compact.contains(sign)),
        Language::Python => match compact.strip_prefix("assert") {
            Some(rest) => {
                let rest = rest.split(['#', ',']).next().unwrap_or(rest);
                is_truth(rest) || compact.ends_with("orTrue") || is_pair(compact)
            }
            None => false,
        },
        _ => false,
    }
}

/// `expect(2).toBe(2)`: a literal beside itself.
fn expects_literal(compact: &str) -> bool {
    let Some((_, rest)) = compact.split_once("expect(") else { return false };
    let Some((one, rest)) = rest.split_once(").") else { return false };
    let is_literal = one.parse::<u64>().is_ok() || matches!(one, "true" | "false" | "null" | "undefined");
    ["toBe(", "toEqual(", "toStrictEqual(", "to.equal(", "to.eql("]
        .iter()
        .filter_map(|matcher| rest.strip_prefix(matcher)?.split(')').next())
        .any(|other| is_literal && other == one)
}

/// `assert (x == 1, "message")`: a pair is always true.
fn is_pair(compact: &str) -> bool {
    let Some(inside) = compact.strip_prefix("assert(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let (mut depth, mut has_comma) = (0_usize, false);
    for byte in inside.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return false,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => has_comma = true,
            _ => {}
        }
    }
    has_comma
}

/// How many assertions a masked text holds.
pub fn assertions(code: &str, language: Language) -> usize {
    let signs: &[&str] = match language {
        Language::Rust => &["assert", "prop_assert", "panic!", "unwrap_err", "expect_err"],
        Language::Python => &["assert", "pytest.raises", "fail("],
        Language::Script => {
            &["expect(", "assert", "t.is", "t.deepEqual", "t.true", "t.ok", "t.throws", ".should", "t.equal"]
        }
        Language::Go => &["t.Error", "t.Fatal", "t.Fail", "assert.", "require.", "b.Fatal"],
        Language::Java => &["assert", "verify(", "expect", "EXPECT_", "ASSERT_", "Assert."],
        Language::Ruby => &["assert", "expect", "must_", ".should", "refute"],
        Language::Shell => &["assert", "[ ", "test ", "grep ", "diff "],
        Language::Config => &[],
    };
    code.lines()
        .filter(|line| {
            !line.trim_start().starts_with("use ")
                && !line.trim_start().starts_with("import ")
                && !line.trim_start().starts_with("from ")
        })
        .map(|line| signs.iter().map(|sign| line.matches(sign).count()).sum::<usize>())
        .sum()
}
