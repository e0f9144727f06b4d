use super::*;
use crate::model::mount::{Backend, Effect, RuleSource, Sandbox};
use crate::model::mount_record::Instant;
use pretty_assertions::assert_eq;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

/// A real repository, and the copy of it that an agent worked in.
struct Repositories {
    dir: tempfile::TempDir,
    record: MountRecord,
    rules: Vec<PathRule>,
}

fn git_in(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(dir: &Path, file: &str, subject: &str) -> String {
    std::fs::create_dir_all(dir.join(file).parent().unwrap()).unwrap();
    std::fs::write(dir.join(file), subject).unwrap();
    git_in(dir, &["add", "-f", file]);
    git_in(dir, &["commit", "-q", "-m", subject]);
    git_in(dir, &["rev-parse", "HEAD"])
}

impl Repositories {
    fn new() -> Repositories {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("project");
        std::fs::create_dir_all(&real).unwrap();
        git_in(&real, &["init", "-q"]);
        commit(&real, "a.txt", "first");
        let session = dir.path().join("session");
        std::fs::create_dir_all(session.join("mount")).unwrap();
        let status =
            Command::new("cp").arg("-a").arg(real.join(".")).arg(session.join("mount")).status().unwrap();
        assert!(status.success());
        let git_dir = real.join(".git");
        let never = Instant { seconds: 0, nanos: 0 };
        let record = MountRecord {
            data: "mount".into(),
            git: vec![GitRecord {
                git_dir: git_dir.clone().into(),
                common_dir: git_dir.into(),
                data: "mount/.git".into(),
                work_tree: Some(PathBuf::new().into()),
                outside: Vec::new(),
                skip_worktree: Vec::new(),
                excluded: Vec::new(),
            }],
            ..MountRecord::bare(Backend::Copy, Sandbox::Off, real.into(), never)
        };
        let rules = vec![PathRule {
            pattern: "CLAUDE.md".into(),
            effect: Effect::Hidden,
            source: RuleSource::BuiltinHarness,
            origin: "built-in".into(),
        }];
        Repositories { dir, record, rules }
    }

    fn real(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn mount(&self) -> PathBuf {
        self.dir.path().join("session/mount")
    }

    fn export(&self) -> GitExport {
        export(&self.dir.path().join("session"), "s-1", &self.record, &self.rules).unwrap()
    }

    /// Everything of the user's that must not move.
    fn users_state(&self) -> (String, String, Vec<u8>) {
        let real = self.real();
        let refs = git_in(&real, &["for-each-ref", "refs/heads", "refs/tags"]);
        let head = git_in(&real, &["rev-parse", "HEAD"]);
        (refs, head, std::fs::read(real.join(".git/index")).unwrap())
    }
}

#[test]
fn commits_become_refs_and_nothing_of_the_users_moves() {
    let repositories = Repositories::new();
    let mount = repositories.mount();
    commit(&mount, "b.txt", "second");
    let tip = commit(&mount, "c.txt", "third");
    git_in(&mount, &["checkout", "-q", "-b", "topic/x"]);
    let topic = commit(&mount, "d.txt", "fourth");
    git_in(&mount, &["branch", "-q", "same-as-base", "HEAD~3"]);
    let before = repositories.users_state();
    let export = repositories.export();
    assert_eq!(repositories.users_state(), before);
    assert_eq!(export.held, []);
    let names: Vec<(&Path, &str)> =
        export.exported.iter().map(|branch| (branch.branch.0.as_path(), branch.tip.as_str())).collect();
    assert_eq!(names, [(Path::new("main"), tip.as_str()), (Path::new("topic/x"), topic.as_str())]);
    let subjects: Vec<&str> =
        export.exported[0].commits.iter().map(|commit| commit.subject.as_str()).collect();
    assert_eq!(subjects, ["third", "second"]);
    let real = repositories.real();
    assert_eq!(git_in(&real, &["rev-parse", "refs/agentworkforce/s-1/heads/topic/x"]), topic);
    git_in(&real, &["fsck", "--strict"]);
    // The mount may go now.
    std::fs::remove_dir_all(&mount).unwrap();
    assert_eq!(git_in(&real, &["show", &format!("{topic}:d.txt")]), "fourth");
}

#[test]
fn the_command_works_after_an_apply() {
    let repositories = Repositories::new();
    let tip = commit(&repositories.mount(), "b.txt", "second");
    let real = repositories.real();
    // The files are applied already.
    std::fs::write(real.join("b.txt"), "second").unwrap();
    let command = repositories.export().exported[0].command.clone();
    assert_eq!(command, "git reset refs/agentworkforce/s-1/heads/main");
    git_in(&real, &["reset", "-q", "refs/agentworkforce/s-1/heads/main"]);
    assert_eq!(git_in(&real, &["rev-parse", "HEAD"]), tip);
    assert_eq!(git_in(&real, &["status", "--porcelain"]), "");
    // When the user has gone on, a cherry-pick is named, which finds the applied files in its way.
    let repositories = Repositories::new();
    commit(&repositories.mount(), "b.txt", "second");
    commit(&repositories.real(), "u.txt", "the user's");
    let applied = repositories.real().join("b.txt");
    std::fs::write(&applied, "second").unwrap();
    let command = repositories.export().exported[0].command.clone();
    std::fs::remove_file(applied).unwrap();
    let pick = command.strip_prefix("agentworkforce sessions undo s-1 && git ").expect(&command);
    assert!(pick.starts_with("cherry-pick "), "{command}");
    let words: Vec<&str> = pick.split(' ').collect();
    git_in(&repositories.real(), &words);
    assert!(repositories.real().join("b.txt").exists());
}

#[test]
fn commits_that_differ_from_the_files_are_named_and_only_looked_at() {
    let repositories = Repositories::new();
    let (mount, real) = (repositories.mount(), repositories.real());
    for (path, text) in [("hook.js", "evil"), ("same.txt", "same\n"), ("dos.txt", "dos\n")] {
        commit(&mount, path, text);
    }
    std::os::unix::fs::symlink("same.txt", mount.join("link")).unwrap();
    std::fs::remove_file(mount.join("a.txt")).unwrap();
    git_in(&mount, &["add", "-A"]);
    git_in(&mount, &["commit", "-q", "-m", "a link, and a file less"]);
    // What an apply may have made of it: `hook.js` was taken back before the review.
    std::fs::write(real.join("same.txt"), "same\n").unwrap();
    std::fs::write(real.join("dos.txt"), "dos\r\n").unwrap();
    std::os::unix::fs::symlink("same.txt", real.join("link")).unwrap();
    let differing = |export: GitExport| {
        let branch = export.exported.into_iter().next().unwrap();
        let paths: Vec<String> = branch.differing.iter().map(|path| path.0.display().to_string()).collect();
        (paths.join(" "), branch.command)
    };
    let log = "git log -p HEAD..refs/agentworkforce/s-1/heads/main";
    assert_eq!(differing(repositories.export()), ("a.txt hook.js".into(), log.into()));
    git_in(&real, &["log", "-p", "HEAD..refs/agentworkforce/s-1/heads/main"]);
    std::fs::remove_file(real.join("a.txt")).unwrap();
    std::fs::remove_file(real.join("link")).unwrap();
    std::os::unix::fs::symlink("a.txt", real.join("link")).unwrap();
    assert_eq!(differing(repositories.export()), ("hook.js link".into(), log.into()));
    std::fs::write(real.join("hook.js"), "evil").unwrap();
    std::fs::remove_file(real.join("link")).unwrap();
    std::os::unix::fs::symlink("same.txt", real.join("link")).unwrap();
    assert_eq!(differing(repositories.export()).1, "git reset refs/agentworkforce/s-1/heads/main");
}

#[test]
fn exported_twice_is_exported_once() {
    let repositories = Repositories::new();
    commit(&repositories.mount(), "b.txt", "second");
    let first = repositories.export();
    assert_eq!(repositories.export(), first);
    let tip = commit(&repositories.mount(), "c.txt", "third");
    assert_eq!(repositories.export().exported[0].tip, tip);
}

#[test]
fn a_commit_with_a_protected_path_is_held() {
    let repositories = Repositories::new();
    let bad = commit(&repositories.mount(), "sub/CLAUDE.md", "injected");
    commit(&repositories.mount(), "b.txt", "after it");
    let export = repositories.export();
    assert_eq!(export.exported, []);
    let held = &export.held[0];
    assert_eq!(held.commit.as_deref(), Some(bad.as_str()));
    assert_eq!(held.path, Some("sub/CLAUDE.md".into()));
    assert_eq!(held.rule.as_ref().unwrap().pattern, "CLAUDE.md");
    assert_eq!(git_in(&repositories.real(), &["for-each-ref", "refs/agentworkforce"]), "");
}

#[test]
fn nothing_that_the_agent_wrote_is_run() {
    let repositories = Repositories::new();
    let mount = repositories.mount();
    let tip = commit(&mount, "b.txt", "second");
    let marker = repositories.dir.path().join("ran");
    let touch = format!("touch {}", marker.display());
    let hooks = mount.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-index-change", "post-checkout", "fsmonitor-watchman"] {
        let path = hooks.join(hook);
        std::fs::write(&path, format!("#!/bin/sh\n{touch}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (key, value) in [
        ("core.fsmonitor", touch.as_str()),
        ("core.pager", &touch),
        ("diff.external", &touch),
        ("core.alternateRefsCommand", &touch),
    ] {
        git_in(&mount, &["config", key, value]);
    }
    std::fs::write(mount.join(".git/objects/info/alternates"), "/nowhere/objects\n").unwrap();
    let _ = std::fs::remove_file(&marker);
    assert_eq!(repositories.export().exported[0].tip, tip);
    assert!(!marker.exists());
}

#[test]
fn broken_and_odd_refs_are_held_or_passed_over() {
    let repositories = Repositories::new();
    let heads = repositories.mount().join(".git/refs/heads");
    let missing = "1".repeat(40);
    std::fs::write(heads.join("missing"), format!("{missing}\n")).unwrap();
    std::fs::write(heads.join("garbage"), "not a commit").unwrap();
    std::fs::write(heads.join("..bad name"), format!("{missing}\n")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", heads.join("link")).unwrap();
    let export = repositories.export();
    assert_eq!(export.exported, []);
    let names: Vec<&Path> = export.held.iter().map(|held| held.branch.0.as_path()).collect();
    // The last one stands for the link: git may find a commit behind it.
    assert_eq!(names, ["..bad name", "missing", "refs"].map(Path::new));
}

/// Where the agent's git keeps an object by itself.
fn loose(git_dir: &Path, id: &str) -> PathBuf {
    git_dir.join("objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn packed_commits_are_exported_and_indexes_are_not_needed() {
    let repositories = Repositories::new();
    let mount = repositories.mount();
    commit(&mount, "b.txt", "second");
    let tip = commit(&mount, "c.txt", "third");
    git_in(&mount, &["gc", "-q", "--prune=now"]);
    let packs = mount.join(".git/objects/pack");
    for entry in std::fs::read_dir(&packs).unwrap().flatten() {
        if !entry.file_name().as_bytes().ends_with(b".pack") {
            std::fs::remove_file(entry.path()).unwrap();
            std::fs::write(entry.path(), "nonsense").unwrap();
        }
    }
    std::fs::write(packs.join("pack-half.pack"), "PACK").unwrap();
    let export = repositories.export();
    assert_eq!(export.held, []);
    assert_eq!(export.exported[0].tip, tip);
    git_in(&repositories.real(), &["fsck", "--strict"]);
}

#[test]
fn deltas_against_the_users_objects_are_completed() {
    let repositories = Repositories::new();
    let (real, mount) = (repositories.real(), repositories.mount());
    let text: String = (0..500).map(|number| format!("line {number}\n")).collect();
    let first = commit(&real, "long.txt", &text);
    let status = Command::new("cp").arg("-af").arg(real.join(".")).arg(&mount).status().unwrap();
    assert!(status.success());
    let tip = commit(&mount, "long.txt", &format!("{text}more\n"));
    let list = mount.join("list");
    std::fs::write(&list, format!("{tip}\n^{first}\n")).unwrap();
    let thin = Command::new("git")
        .args(["pack-objects", "--thin", "--revs", "--stdout", "-q"])
        .stdin(std::fs::File::open(&list).unwrap())
        .current_dir(&mount)
        .output()
        .unwrap();
    assert!(thin.status.success());
    std::fs::remove_dir_all(mount.join(".git/objects")).unwrap();
    std::fs::create_dir_all(mount.join(".git/objects/pack")).unwrap();
    let pack = mount.join(".git/objects/pack/thin.pack");
    std::fs::write(&pack, thin.stdout).unwrap();
    let export = repositories.export();
    assert_eq!((export.held.as_slice(), export.exported[0].tip.as_str()), ([].as_slice(), tip.as_str()));
    assert_eq!(git_in(&real, &["show", &format!("{tip}:long.txt")]), format!("{text}more"));
}

#[test]
fn an_object_that_is_not_what_its_name_says_is_missing() {
    let repositories = Repositories::new();
    let mount = repositories.mount();
    commit(&mount, "b.txt", "second");
    let git_dir = mount.join(".git");
    let [blob, tree, tip] =
        ["HEAD:b.txt", "HEAD^{tree}", "HEAD"].map(|name| git_in(&mount, &["rev-parse", name]));
    for (victim, other) in [(&blob, &tip), (&tree, &blob), (&tip, &tree)] {
        let victim = loose(&git_dir, victim);
        let honest = std::fs::read(&victim).unwrap();
        for forged in
            [std::fs::read(loose(&git_dir, other)).unwrap(), Vec::new(), honest[..honest.len() - 6].into()]
        {
            let mode = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&victim, mode).unwrap();
            std::fs::write(&victim, forged).unwrap();
            let export = repositories.export();
            assert_eq!((export.exported.as_slice(), export.held.len()), ([].as_slice(), 1), "{export:#?}");
        }
        std::fs::write(&victim, honest).unwrap();
    }
    let export = repositories.export();
    assert_eq!((export.held.as_slice(), export.exported[0].tip.as_str()), ([].as_slice(), tip.as_str()));
}

#[test]
fn what_the_real_repository_has_is_not_read_from_the_agent() {
    let repositories = Repositories::new();
    let (real, mount) = (repositories.real(), repositories.mount());
    for dir in [&real, &mount] {
        git_in(dir, &["repack", "-adq"]);
    }
    let tip = commit(&mount, "b.txt", "second");
    for entry in std::fs::read_dir(mount.join(".git/objects/pack")).unwrap().flatten() {
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(entry.path(), mode).unwrap();
        std::fs::write(entry.path(), "not a pack").unwrap();
    }
    let export = repositories.export();
    assert_eq!((export.held.as_slice(), export.exported[0].tip.as_str()), ([].as_slice(), tip.as_str()));
    // What it does not have is named when it is why commits are held.
    let objects = mount.join(".git/objects");
    let missing = loose(&mount.join(".git"), &git_in(&real, &["rev-parse", &format!("{tip}^{{tree}}")]));
    git_in(&real, &["update-ref", "-d", "refs/agentworkforce/s-1/heads/main"]);
    git_in(&real, &["gc", "-q", "--prune=now"]);
    std::fs::remove_file(missing).unwrap();
    std::fs::write(objects.join("pack/pack-odd.pack"), "not a pack").unwrap();
    let export = repositories.export();
    assert_eq!(export.exported, []);
    let reason = &export.held[0].reason;
    assert!(reason.contains("; not read: pack/pack-odd.pack: fatal: "), "{reason}");
}

#[test]
fn commits_of_a_repository_with_longer_names_are_exported() {
    let mut repositories = Repositories::new();
    let (real, mount) = (repositories.real(), repositories.mount());
    for dir in [&real, &mount] {
        std::fs::remove_dir_all(dir).unwrap();
        std::fs::create_dir(dir).unwrap();
    }
    git_in(&real, &["init", "-q", "--object-format=sha256"]);
    commit(&real, "a.txt", "first");
    let status = Command::new("cp").arg("-a").arg(real.join(".")).arg(&mount).status().unwrap();
    assert!(status.success());
    repositories.rules.clear();
    let tip = commit(&mount, "b.txt", "second");
    let export = repositories.export();
    assert_eq!((export.held.as_slice(), export.exported[0].tip.as_str()), ([].as_slice(), tip.as_str()));
    git_in(&real, &["fsck", "--strict"]);
}
