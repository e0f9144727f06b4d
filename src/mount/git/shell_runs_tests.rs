use super::*;
use pretty_assertions::assert_eq;

fn shown(text: &str) -> Vec<String> {
    let name = |run| match run {
        Run::File(name) | Run::Module(name) => Some(name),
        Run::Directory(name) | Run::Absolute(name) => Some(name + "/*"),
        Run::Program(_) => None,
    };
    runs_in(text).into_iter().filter_map(name).collect()
}

#[test]
fn files_that_are_run_are_found() {
    for (text, expected) in [
        ("exec \"$(dirname \"$0\")/../../scripts/lint.sh\" \"$@\"", vec!["/../../scripts/lint.sh"]),
        ("if true; then ./a.sh; fi", vec!["./a.sh"]),
        (". \"${0%/*}/common.sh\"", vec!["/common.sh"]),
        ("D=tools; . \"$D/lib.sh\"", vec!["/lib.sh", "tools/lib.sh"]),
        ("X=a/b; [ -x \"$X\" ] && exec \"$X\" c/d", vec!["a/b"]),
        ("sh -ec 'exec a/b'", vec!["a/b"]),
        ("uv run --quiet scripts/u.py; npm run build", vec!["scripts/u.py"]),
        ("  - entry: python3 -u scripts/check", vec!["scripts/check"]),
        ("python3 -m tools.check", vec!["tools/check"]),
        ("deno run a/b; ruby -r./c d; node --require ./e ./f", vec!["./c", "./e", "./f", "a/b", "d", "run"]),
        ("go() { \"$1\"; }; go x/y", vec!["x/y"]),
        ("bash -n a/b; command -v node; grep x src/lib.rs; echo docs/a.md", vec![]),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn directories_with_what_is_run_are_found() {
    for (text, expected) in [
        ("for f in .githooks/d/*; do [ -x \"$f\" ] && \"$f\"; done", vec![".githooks/d/*"]),
        ("run-parts --exit-on-error hooks.d", vec!["hooks.d/*"]),
        ("L=\"$(git x)/.hooks/$(basename \"$0\")\"; [ -x \"$L\" ] && exec \"$L\" \"$@\"", vec!["/.hooks/*"]),
        ("D=$(git x)/hooks.d; for f in \"$D\"/*.sh; do . \"$f\"; done", vec!["/hooks.d/*"]),
        ("find h.d -type f | sort | while read -r h; do \"$h\"; done", vec!["h.d/*"]),
        ("find h.d -type f -exec sh {} \\;", vec!["h.d/*"]),
        ("ls h.d | xargs -n1 bash", vec!["h.d/*"]),
        ("cat h.d/* | sh", vec!["h.d/*"]),
        ("sh \"h.d/$name\"; h.d/$name", vec!["h.d/*"]),
        ("git ls-files 'h.d/*.sh' | xargs -n1 bash", vec!["h.d/*"]),
        ("each() { for f in \"$1\"/*; do \"$f\"; done }; each h.d src", vec!["h.d/*"]),
        ("export PATH=\"$PWD/h.d:$HOME/bin:$PATH\"; git status", vec!["/h.d/*"]),
        ("D=h.d; PYTHONPATH=$D:lib:/opt/x python3 -c x", vec!["h.d/*", "lib/*", "/opt/x/*"]),
        ("perl -Ih.d -MFoo; ruby -I lib a/b", vec!["a/b", "h.d/*", "lib/*"]),
        ("git -c core.hooksPath=h.d commit; git config core.hooksPath lib", vec!["h.d/*", "lib/*"]),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn directories_that_are_looked_at_are_not() {
    for text in [
        "black src/*.py",
        "for f in src/*.c; do clang-format -i \"$f\"; done",
        "find src -name '*.sh' | xargs shellcheck",
        "find src -name '*.sh' -exec bash -n {} \\;",
        "run() { echo \"$@\"; \"$@\"; }; run black src/*",
        "cp \"docs/$x\" out; cat tests/* | grep TODO; ls src; command -v sh",
        "black . && pytest tests; flake8 . src; node --test tests/unit",
        "for f in src/*; do if [[ -f $f && $f == src/* ]]; then cc \"$f\"; fi; done",
        "case \"$f\" in src/*.py|tests/*) black \"$f\" ;; docs/*) true ;; esac",
        "each() { for f in \"$1\"/*; do echo \"$f\"; done }; each src; php -l src/a.php; npx eslint src/",
        "files: src/lib\n\"src/**/*.ts\": eslint\nlint() { \"$@\"; }; lint src/*",
    ] {
        assert_eq!(shown(text), Vec::<String>::new(), "{text}");
    }
}

/// Forms of a call whose script is `X`, whatever stands before it.
const CALLS: [&str; 53] = [
    "bash X",
    "bash < X",
    "bash -euo pipefail X",
    "bash -o pipefail X",
    "bash +o posix X",
    "bash -O extglob X",
    "bash --rcfile r X",
    "zsh -o errexit X",
    "fish -d 2 X",
    "timeout -s KILL 5 bash X",
    "env -u V bash X",
    "sudo -u me bash X",
    "nice -n 5 ionice -c 2 bash X",
    "flock .git/x.lock bash X",
    "flock x true || bash -O extglob X",
    "busybox sh X",
    "ssh host bash X",
    "docker run --rm image sh X",
    "direnv exec . bash X",
    "python3 -W ignore X",
    "python3 -uW ignore X",
    "python3 -X dev X",
    "python3.13 -Wignore X",
    "node --conditions dev X",
    "node -C dev X",
    "node --env-file e X",
    "node --no-warnings X",
    "tsx --tsconfig t X",
    "deno run --config c X",
    "bun run --env-file e X",
    "ruby -E utf-8 X",
    "ruby -w X",
    "perl -w X",
    "php -d a=b X",
    "php -c i X",
    "lua -l m X",
    "java X",
    "java -jar X",
    "java -cp c X",
    "awk -v a=b -f X",
    "awk -F : -f X f",
    "sed -n -f X f",
    "ssh -F X host",
    "bash <(cat X)",
    ". <(cat X)",
    "eval \"$(cat X)\"",
    "cat X | sh",
    "S=X; bash $S",
    "for s in X; do bash \"$s\"; done",
    "check() { bash \"$1\"; }; check X",
    "bash -c 'python3 -W ignore X'",
    "if ! timeout -k 1 5 python3 -X dev X; then exit 1; fi",
    "  - entry: bash -o pipefail X",
];

#[test]
fn a_script_is_found_behind_options_and_other_programs() {
    for call in CALLS {
        assert!(shown(call).iter().any(|name| name == "X"), "{call}: {:?}", shown(call));
    }
    for (call, expected) in [
        ("uv run X.py", "X.py"),
        ("uv run --with x X.py", "X.py"),
        ("go run X.go Y.go z", "Y.go"),
        ("go run ./tool/x ./src", "./tool/x/*"),
        ("go run -tags t ./tool", "./tool/*"),
        ("go -C tools run -race ./x", "./x/*"),
    ] {
        assert!(shown(call).iter().any(|name| name == expected), "{call}: {:?}", shown(call));
    }
}

#[test]
fn what_a_script_works_on_is_not_found() {
    for text in [
        "npx eslint src/",
        "go run . src; go test ./src/...; go vet ./src",
        "timeout -s KILL 60 npx eslint src; sudo -u me black src",
        "uv run black src/a.py; poetry run mypy src; npm run lint src/a.js",
        "grep -r python3 src; git grep node src; brew install node src; which bash src",
        "cat src; head -n 1 src; echo bash src",
        "eval \"$(ssh-agent)\"; for f in $(find src -name '*.c'); do cc \"$f\"; done",
        "sed -i s/a/b/ src; ssh host src",
    ] {
        let found = shown(text);
        assert!(!found.iter().any(|name| name.contains("src")), "{text}: {found:?}");
    }
    // An option without a value does not make an argument a script.
    for text in [
        "bash -ex X src",
        "bash -o pipefail X src",
        "python3 -uB X src",
        "python3 -W ignore X src",
        "node --no-warnings --experimental-x X src",
        "php -d a=b X src",
    ] {
        assert!(!shown(text).iter().any(|name| name.contains("src")), "{text}: {:?}", shown(text));
    }
}
