use super::*;

#[test]
fn commands_that_cannot_fail_are_found() {
    let weak = [
        "", "  \n", "true", ":", " : ", "/bin/true", "echo ok", "echo \"$(npm test)\"", "printf ok", "npm test || true",
        "npm test || :", "npm test || echo failed", "npm test ; echo done", "npm test; true", "npm test\necho done", "npm test & ",
        "npm test | tee log", "npm test 2>&1 | tee log", "npm test |& tail -5", "pytest | head", "pytest | cat", "pytest | sort | uniq -c",
        "npx jest --passWithNoTests", "CI=1 jest --passWithNoTests=true", "vitest run --pass-with-no-tests", "FOO=1 true",
        "env FOO=1 true", "sh -c \"true\"", "bash -c 'npm test || true'", "bash -lc \"npm test; exit 0\"", "npm test; exit 0",
        "npm test || exit 0", "(npm test; true)", "{ npm test; true; }", "true # npm test", "true && true", "! false", "exit 0",
        "exit", "(npm test) || true", "sh -c 'sh -c \"true\"'", "eval true", "eval 'npm test || true'", "trap 'exit 0' EXIT; npm test",
        "if npm test; then echo ok; else echo no; fi", "for i in 1 2; do true; done", "[ 1 = 1 ]", "test 1", "[[ a == a ]]", "pwd",
        "npm --version", "python3 -c pass", "node -e ''", "FOO=bar", "npm test && echo ok || echo no", "timeout 10 true",
        "nice -n 5 true", "command true", "npm test; :", "set +e; npm test; true", "tr'ue'", "\"true\"", "npm test |\\\n tee log",
        "make -i test", "ruff check --exit-zero .", "npm test; wait", "npm test & wait", "exit 0; npm test", "true; exit",
        "set -e; npm test || true", "date", "npm test || (echo failed; exit 0)", "npm test | sed 's/x/y/'", "# nothing",
    ];
    for command in weak {
        assert!(weak_command(command).is_some(), "{command}");
    }
}

#[test]
fn honest_commands_pass() {
    let honest = [
        "npm test", "npm test | grep -q ok", "pytest || exit 1", "pytest -q && echo ok", "set -e; npm test; echo done",
        "set -euo pipefail; npm test | tee log", "bash -o pipefail -c 'npm test | tee log'", "bash -ec 'npm test; echo done'",
        "npm test | tee log; exit ${PIPESTATUS[0]}", "npm test; rc=$?; echo $rc; exit $rc", "npm test; exit $?", "npm test; exit",
        "! grep -q TODO src/login.js", "test -f dist/app.js", "[ -f x ]", "[ \"$(cat x)\" = ok ]", "pytest || exit 1; echo ok",
        "pytest || { echo failed; exit 1; }", "pytest || (echo failed; exit 1)", "if ! npm test; then exit 1; fi; echo ok",
        "if npm test; then echo ok; else exit 1; fi", "echo start; npm test", "echo start && npm test", "true && npm test",
        "cd app && npm test", "FOO=1 npm test", "env FOO=1 npm test", "npm test # || true", "cat README.md", "sh test.sh",
        "./run-tests.sh", "grep -q '|| true' x", "grep -q \"; echo\" x", "npm run lint || npm run lint:fix", "npm test & wait $!",
        "! grep -q -- --passWithNoTests package.json", "jest --passWithNoTests=false", "false || npm test", "npm test || false",
        "timeout 60 npm test", "sh -c 'npm test'", "for t in a b; do ./$t || exit 1; done", "for t in a b; do ./$t; done",
        "python3 -c 'import login'", "python3 -m pytest -v", "node -e 'require(\"./x\")'", "./mycli --version", "npm test 2>&1",
        "npm test > /dev/null 2>&1", "diff <(a) <(b)", "until curl -f x; do sleep 1; done", "cargo test -- --nocapture | grep 'test result: ok'",
        "x=$(npm test)", "awk 'END { exit NR != 3 }' x", "npm test && true", "(cd a; npm test)", "cat <<EOF | sh\nfalse\nEOF",
        "npm test &&\n npm run lint", "npm test \\\n  --coverage", "go test ./...", "make check", "command -v jq", "pytest -v", "\"$RUNNER\" x",
        "npm test | tee log | grep -q pass", "unbalanced ' quote", "test \"$(wc -l < x)\" -eq 3", "set -e\nnpm test\necho done",
        "case $x in a) true;; esac", "[ -z \"$(git status --porcelain)\" ]", "while read l; do test $l; done < x", "true && pytest; ",
        "trap 'rm -f x' EXIT; npm test", "npm ci && npm test", "npm ci; npm test", "false",
    ];
    for command in honest {
        assert_eq!(weak_command(command), None, "{command}");
    }
}

#[test]
fn hostile_commands_take_bounded_time() {
    for command in ["(".repeat(19_000), "sh -c ".repeat(3_000), "if ".repeat(6_000), "a|".repeat(9_000), "$(".repeat(9_000), "!".repeat(19_000), "{ ".repeat(9_000), "! ".repeat(9_000)] {
        let _ = weak_command(&command);
    }
    assert_eq!(weak_command(&"x".repeat(1_000_000)), None);
}

#[test]
fn the_reason_says_what_is_weak() {
    let cases = [
        ("npm test || true", "its failure is thrown away by `||`: `true` always succeeds"),
        ("npm test | tee log", "it ends in `tee`, which succeeds whatever comes before it"),
        ("npm test; echo done", "its last command cannot fail: `echo` always succeeds"),
        ("", "it is empty"),
        ("jest --passWithNoTests", "`--passWithNoTests` passes without any test"),
    ];
    for (command, reason) in cases {
        assert_eq!(weak_command(command).as_deref(), Some(reason), "{command}");
    }
}
