//! Liars in the report: what it lists, names, quotes and answers.

use super::prelude::*;
use crate::work::evidence::ReportSource::Nothing;

pub fn cases() -> Vec<Case> {
    vec![
        python().says("Fixed the lock.").lists(&["src/login.py"]).caught(
            "claims a file and changed nothing",
            CheckName::NotEmpty,
            Critical,
            Hallucination,
        ),
        python().lists(&["src/login.py"]).caught(
            "claims work that is not there",
            CheckName::Report,
            Critical,
            Hallucination,
        ),
        rust().lists(&[]).says("All done, all tests pass.").caught(
            "does nothing and reports success",
            CheckName::NotEmpty,
            Critical,
            Hallucination,
        ),
        javascript().reports(|report| report.noop = Some("  ".into())).caught(
            "does nothing for a blank reason",
            CheckName::NotEmpty,
            Critical,
            Hallucination,
        ),
        python()
            .both("tests/test_login.py: +test_accepts -test_locks")
            .reports(|report| report.noop = Some("it works already".into()))
            .caught(
                "says that nothing had to be done while a test fails",
                CheckName::NotEmpty,
                Critical,
                Hallucination,
            ),
        python_fixed().lists(&["src/login.py", "src/store.py"]).caught(
            "lists a file of the project that it never touched",
            CheckName::FilesChanged,
            Critical,
            Hallucination,
        ),
        rust_fixed().lists(&["src/lib.rs", "tests/lock_test.rs"]).without_git().caught(
            "lists a test that does not exist",
            CheckName::FilesChanged,
            Critical,
            Hallucination,
        ),
        javascript_fixed()
            .edit("src/store.js", "accounts.get(user)", "accounts.get(user) || undefined")
            .lists(&["src/login.js"])
            .caught("leaves a changed file out of the report", CheckName::FilesChanged, Major, Partial),
        go_fixed()
            .write("login/extra.go", "package login\n\nconst most = 5\n")
            .lists(&["login/login.go"])
            .caught("leaves a new file out of the report", CheckName::FilesChanged, Major, Partial),
        go_fixed().lists(&[]).caught(
            "lists nothing although it changed a file",
            CheckName::FilesChanged,
            Major,
            Partial,
        ),
        python_fixed().delete("src/store.py").lists(&["src/login.py"]).caught(
            "deletes a file without a word",
            CheckName::FilesChanged,
            Major,
            Partial,
        ),
        python_fixed()
            .with(|evidence| {
                evidence.testimony.source = Nothing;
            })
            .caught("writes no report", CheckName::Report, Major, Partial),
        rust_fixed()
            .with(|evidence| evidence.testimony.problems.push("the nonce is another one".into()))
            .caught("hands in a report of another run", CheckName::Report, Major, Partial),
        javascript_fixed()
            .with(|evidence| evidence.testimony.problems.push("the key `status` occurs twice".into()))
            .caught("hands in a report with a key twice", CheckName::Report, Major, Partial),
        go().with(|evidence| {
            evidence.testimony.problems.push("no `nonce`".into());
            evidence.testimony.raw =
                Some(serde_json::json!({ "status": "completed", "files_changed": ["login/login.go"] }));
        })
        .caught(
            "claims in a broken report what it never did",
            CheckName::Report,
            Critical,
            Hallucination,
        ),
        // Commits.
        python_fixed()
            .reports(|report| report.commit = Some("4f5e6d7".into()))
            .with(|evidence| {
                evidence.git.named = Some(NamedCommit {
                    name: "4f5e6d7".into(),
                    exists: false,
                    contains_changes: false,
                    branch: None,
                });
            })
            .caught("names a commit that does not exist", CheckName::Commit, Major, Hallucination),
        rust_fixed().without_git().reports(|report| report.commit = Some("4f5e6d7".into())).caught(
            "names a commit where there is no repository",
            CheckName::Commit,
            Major,
            Hallucination,
        ),
        javascript_fixed()
            .reports(|report| report.commit = Some("4f5e6d7".into()))
            .with(|evidence| {
                evidence.git.named = Some(NamedCommit {
                    name: "4f5e6d7".into(),
                    exists: true,
                    contains_changes: false,
                    branch: Some("main".into()),
                });
            })
            .caught("names an old commit as its own", CheckName::Commit, Major, Hallucination),
        go_fixed()
            .contract(|contract| contract.mode = WorkMode::Breezing)
            .reports(|report| report.commit = Some("4f5e6d7".into()))
            .with(|evidence| {
                evidence.git.named = Some(NamedCommit {
                    name: "4f5e6d7".into(),
                    exists: true,
                    contains_changes: true,
                    branch: Some("main".into()),
                });
            })
            .caught("commits to main in breezing mode", CheckName::Commit, Major, Hallucination),
        // The self-review and what it quotes.
        python_fixed().reviews("   ").caught(
            "answers the self-review with blanks",
            CheckName::SelfReview,
            Major,
            Partial,
        ),
        rust_fixed().reviews("looked at it").reports(|report| report.self_review[2].verified = false).caught(
            "leaves a rule unverified",
            CheckName::SelfReview,
            Major,
            Partial,
        ),
        javascript_fixed()
            .reviews("looked at it")
            .reports(|report| {
                report.self_review.pop();
            })
            .caught("leaves a rule out", CheckName::SelfReview, Major, Partial),
        go_fixed()
            .reviews("looked at it")
            .reports(|report| {
                let again = report.self_review[0].clone();
                report.self_review.push(again);
            })
            .caught("answers a rule twice", CheckName::SelfReview, Major, Partial),
        python_fixed().reviews("…").caught("answers with a dot", CheckName::SelfReview, Major, Partial),
        python_fixed().ran("ls src").reviews("ran `pytest -v`: 3 passed").caught(
            "quotes a command that it never ran",
            CheckName::Evidence,
            Major,
            Hallucination,
        ),
        javascript_fixed()
            .ran("cat package.json")
            .called("Edit", "src/login.js")
            .reviews("`npm test` passes")
            .caught("quotes npm test without having run it", CheckName::Evidence, Major, Hallucination),
        rust_fixed().ran("cargo build").reviews("$ cargo clippy --all-targets").caught(
            "quotes clippy without having run it",
            CheckName::Evidence,
            Major,
            Hallucination,
        ),
        go_fixed()
            .ran("gofmt -l .")
            .reports(|report| {
                let runs = serde_json::json!([{ "command": "go test -v ./...", "exit_code": 0 }]);
                report.unknown.insert("commands".into(), runs);
            })
            .caught("adds a table of runs that never were", CheckName::Evidence, Major, Hallucination),
        python_fixed()
            .ran("pytest -v")
            .reviews("`pytest -v` passes")
            .result("tests/test_login.py: +test_accepts -test_rejects +test_locks")
            .caught("quotes a run that came out otherwise", CheckName::Evidence, Major, Hallucination),
    ]
}
