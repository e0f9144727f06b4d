//! Skills from every kind of source, with real git repositories on disk and a pretended npx.

use super::obtain::{SkillRequest, Skills, obtain, obtain_within};
use super::stage::{files_for_mount, stage};
use crate::host::Host;
use crate::model::mount::Effect;
use crate::model::mount::{PathRule, RuleSource};
use crate::model::plan::{PlannedSkill, SkillKind};
use crate::model::skill_source::kind_of;
use crate::model::warning::{Warning, WarningCode};
use crate::rules::builtin_secret_rules;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A home, a project, a persona directory, a cache and a PATH of one test.
struct World {
    dir: tempfile::TempDir,
    host: Host,
    rules: Vec<PathRule>,
    offline: bool,
    refresh: bool,
}

impl World {
    fn new() -> World {
        let dir = tempfile::Builder::new().prefix("aw-skills-").tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home", "project", "personas", "bin"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
        let env = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), root.join("home").display().to_string()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("ANTHROPIC_API_KEY".to_owned(), "not-for-installers".to_owned()),
        ]);
        let host =
            Host { env, cwd: root.join("project"), stdin_is_terminal: false, stderr_is_terminal: false };
        World { dir, host, rules: builtin_secret_rules(), offline: false, refresh: false }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn npx(&self, script: &str) {
        let path = self.write("bin/npx", &format!("#!/bin/sh\nset -e\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git(&self, dir: &str, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(self.at(dir))
            .env_clear()
            .envs(&self.host.env)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Makes a bare repository of a directory.
    fn publish(&self, dir: &str, bare: &str) -> String {
        self.git(dir, &["init", "-q"]);
        self.git(dir, &["add", "-A"]);
        self.git(dir, &["commit", "-qm", "x"]);
        let target = self.at(bare);
        self.git(dir, &["clone", "-q", "--bare", ".", target.to_str().unwrap()]);
        format!("file://{}", target.display())
    }

    fn obtain(&self, sources: &[(&str, &str)]) -> Skills {
        self.obtain_within(sources, Duration::from_mins(1))
    }

    fn obtain_within(&self, sources: &[(&str, &str)], time: Duration) -> Skills {
        let planned = |(id, source): &(&str, &str)| PlannedSkill {
            id: (*id).to_owned(),
            source: (*source).to_owned(),
            kind: kind_of(source),
            description: None,
        };
        let skills: Vec<PlannedSkill> = sources.iter().map(planned).collect();
        let request = SkillRequest {
            skills: &skills,
            persona_dir: Some(&self.at("personas")),
            project_root: &self.at("project"),
            rules: &self.rules,
            cache: &self.at("home/cache/skills"),
            offline: self.offline,
            refresh: self.refresh,
            strict: false,
            host: &self.host,
            stop: &|| false,
        };
        obtain_within(&request, time).unwrap()
    }

    /// What is staged of these, as text by path.
    fn staged(&self, skills: &Skills) -> BTreeMap<String, String> {
        let target = self.at("staged");
        let _ = fs::remove_dir_all(&target);
        stage(&skills.obtained, &target).unwrap();
        let planted: BTreeMap<String, String> = files_for_mount(&skills.obtained, Path::new(""))
            .unwrap()
            .0
            .into_iter()
            .map(|file| (file.path.display().to_string(), String::from_utf8(file.bytes).unwrap()))
            .collect();
        for (path, text) in &planted {
            assert_eq!(&fs::read_to_string(target.join(path)).unwrap(), text, "{path}");
        }
        planted
    }

    #[track_caller]
    fn only_warning(&self, skills: &Skills, says: &str) {
        assert!(skills.obtained.is_empty(), "{skills:?}");
        assert_eq!((skills.warnings.len(), skills.missing.len()), (1, 1), "{skills:?}");
        assert!(skills.warnings[0].message.contains(says), "{says:?} is not in {skills:?}");
    }
}

const A: &str = "---\nname: a\ndescription: does a\n---\nbody of a\n";
const B: &str = "---\nname: b\ndescription: does b\n---\nbody of b\n";

fn names(skills: &Skills) -> Vec<&str> {
    skills.obtained.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn local_sources_are_looked_for_beside_the_persona_and_then_in_the_project() {
    let world = World::new();
    world.write("personas/skills/a/SKILL.md", A);
    world.write("personas/skills/a/references/more.md", "more");
    world.write("project/skills/a/SKILL.md", "not this one");
    world.write("project/docs/Some Thing.md", "# How to\nbody");
    world.write("home/b/SKILL.md", B);
    let skills = world.obtain(&[("x", "./skills/a"), ("y", "docs/Some Thing.md"), ("z", "~/b/SKILL.md")]);
    assert_eq!((names(&skills), &skills.warnings), (vec!["a", "y", "b"], &vec![]));
    let staged = world.staged(&skills);
    assert_eq!(staged["a/SKILL.md"], A);
    assert_eq!(staged["a/references/more.md"], "more");
    assert_eq!(staged["y/SKILL.md"], "---\nname: y\ndescription: \"How to\"\n---\n\n# How to\nbody");
    assert_eq!(staged["b/SKILL.md"], B);
}

#[test]
fn a_missing_local_source_names_both_places_and_the_others_go_on() {
    let world = World::new();
    world.write("personas/a.md", A);
    let skills = world.obtain(&[("gone", "./gone.md"), ("x", "./a.md"), ("odd", "ftp://x/y")]);
    assert_eq!(
        (names(&skills), skills.missing.clone()),
        (vec!["a"], vec!["gone".to_owned(), "odd".to_owned()])
    );
    assert!(
        skills.warnings[0].message.starts_with("skill `gone` is left out: ./gone.md: there is no `"),
        "{skills:?}"
    );
    assert!(skills.warnings[0].message.contains("personas/./gone.md` and no `"), "{skills:?}");
    assert!(skills.warnings[1].message.contains("unknown kind of source"), "{skills:?}");
}

#[test]
fn what_is_hidden_from_agents_is_not_brought_in_by_a_skill() {
    let mut world = World::new();
    world.rules.push(PathRule {
        pattern: "/skills/a/private".into(),
        effect: Effect::Hidden,
        source: RuleSource::ProjectFile,
        origin: ".agentignore".into(),
    });
    world.write("project/skills/a/SKILL.md", A);
    world.write("project/skills/a/.env", "TOKEN=1");
    world.write("project/skills/a/private/x", "x");
    let skills = world.obtain(&[("a", "./skills/a")]);
    assert_eq!(world.staged(&skills).into_keys().collect::<Vec<_>>(), ["a/SKILL.md"]);
    assert_eq!(
        skills.warnings,
        [Warning::new(WarningCode::Skill, "skill `a`: hidden from agents: .env, private")]
    );
    // A whole project as a skill would show everything that the mount hides.
    world.write("project/SKILL.md", A);
    world.only_warning(&world.obtain(&[("p", "../project")]), "is a whole project");
    assert_eq!(world.staged(&world.obtain(&[("p", "../project/SKILL.md")])).len(), 1);
}

#[test]
fn a_skill_with_a_link_out_of_it_is_refused() {
    let world = World::new();
    world.write("personas/a/SKILL.md", A);
    symlink("/etc/passwd", world.at("personas/a/passwd")).unwrap();
    world.only_warning(&world.obtain(&[("a", "./a")]), "the link `passwd` leads out of the skill");
}

#[test]
fn skills_are_read_from_git_by_name_by_path_and_by_id() {
    let world = World::new();
    world.write("r/skills/a/SKILL.md", A);
    let tool = world.write("r/skills/a/tool.sh", "#!/bin/sh\n");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("tool.sh", world.at("r/skills/a/alias.sh")).unwrap();
    world.write("r/plugins/deep/b/SKILL.md", B);
    world.write("r/notes/c.md", "just text");
    let url = world.publish("r", "home/r.git");
    world.git("home/r.git", &["branch", "feat/x"]);
    let skills = world.obtain(&[
        ("1", &format!("{url}#b")),
        ("2", &format!("{url}/tree/main/skills/a")),
        ("3", &format!("{url}/tree/feat/x/notes/c.md")),
        ("a", &format!("{url}/tree/feat/x")),
        ("b", "~/r.git"),
        ("4", "../home/r.git#a"),
    ]);
    assert_eq!(skills.warnings, []);
    assert_eq!(names(&skills), ["b", "a", "3", "a-2", "b-2", "a-3"]);
    let staged = world.staged(&skills);
    assert_eq!((&*staged["a/SKILL.md"], &*staged["a/alias.sh"]), (A, "#!/bin/sh\n"));
    assert_eq!(staged["a-2/SKILL.md"], A.replace("name: a", "name: a-2"));
    assert!(staged["3/SKILL.md"].ends_with("just text"));
    let mode = fs::metadata(world.at("staged/a/tool.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(fs::metadata(world.at("staged/a/SKILL.md")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_git_source_that_does_not_fit_says_what_there_is() {
    let world = World::new();
    world.write("r/skills/a/SKILL.md", A);
    world.write("r/skills/b/SKILL.md", B);
    let url = world.publish("r", "home/r.git");
    world.only_warning(&world.obtain(&[("q", &format!("{url}#q"))]), "it has no skill `q`; it has a, b");
    world.only_warning(&world.obtain(&[("q", &url)]), "select one with `#name`: a, b");
    world.only_warning(&world.obtain(&[("q", &format!("{url}/tree/nope/x"))]), "no branch or tag");
    world.only_warning(&world.obtain(&[("q", &format!("{url}-not"))]), "git failed: ");
    world.only_warning(&world.obtain(&[("q", &format!("{url}/tree/main/nowhere"))]), "it has no SKILL.md");
}

#[test]
fn nothing_in_a_repository_is_run_or_followed() {
    let world = World::new();
    world.write("r/SKILL.md", A);
    world.write("r/.gitattributes", "* filter=evil\n");
    let marker = world.at("ran");
    let touch = format!("touch {}", marker.display());
    let config = format!(
        "[filter \"evil\"]\n  smudge = {touch}\n  clean = cat\n[core]\n  hooksPath = {}\n",
        world.at("hooks").display()
    );
    world.write("home/.gitconfig", &config);
    for hook in ["post-checkout", "reference-transaction", "post-merge"] {
        let hook = world.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{touch}\n"));
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let url = world.publish("r", "home/r.git");
    let _ = fs::remove_file(&marker);
    assert_eq!(names(&world.obtain(&[("a", &url)])), ["a"]);
    assert!(!marker.exists(), "something of the repository was run");

    symlink("../../../etc/passwd", world.at("r/link")).unwrap();
    let url = world.publish("r", "home/links.git");
    world.only_warning(&world.obtain(&[("a", &url)]), "the link `link` leads out of the skill");
}

#[test]
fn a_remote_source_is_fetched_once_a_day_and_offline_comes_from_the_cache() {
    let mut world = World::new();
    world.write("r/SKILL.md", A);
    let url = world.publish("r", "home/r.git");
    let first = world.obtain(&[("a", &url)]);
    fs::rename(world.at("home/r.git"), world.at("home/away.git")).unwrap();
    assert_eq!(world.obtain(&[("a", &url)]), first, "the copy of today is good enough");
    world.refresh = true;
    let refreshed = world.obtain(&[("a", &url)]);
    assert_eq!(
        (&refreshed.obtained, refreshed.warnings.len()),
        (&first.obtained, 1),
        "unless a new one is asked for"
    );
    world.refresh = false;

    // The copy of last year is used, with a warning.
    let index = world.at("home/cache/skills/index.json");
    let text = fs::read_to_string(&index).unwrap();
    let year = &world.host.now().to_string()[..4];
    fs::write(&index, text.replace(&format!("\"fetchedAt\": \"{year}"), "\"fetchedAt\": \"2001")).unwrap();
    let stale = world.obtain(&[("a", &url)]);
    assert_eq!((&stale.obtained, stale.missing.len()), (&first.obtained, 0));
    assert!(stale.warnings[0].message.contains("so the copy of 2001-"), "{stale:?}");

    world.offline = true;
    world.write("personas/l.md", "local");
    let offline = world.obtain(&[("a", &url), ("other", &format!("{url}#other")), ("l", "./l.md")]);
    assert_eq!((names(&offline), &*offline.missing), (vec!["a", "l"], &["other".to_owned()][..]));
    assert!(
        offline.warnings[0].message.contains("not in the cache, and nothing is fetched offline"),
        "{offline:?}"
    );

    // Spoilt content is as good as none.
    fs::write(offline.obtained[0].dir.join("SKILL.md"), "spoilt").unwrap();
    world.only_warning(&world.obtain(&[("a", &url)]), "not in the cache");
}

#[test]
fn prpm_packages_come_through_npx_with_nothing_of_ours() {
    let world = World::new();
    world.npx(
        "echo \"$@\" > ../../../asked; pwd > ../../../where; env > ../../../env; cat > ../../../stdin\n\
         mkdir -p .claude/skills/n; printf -- '---\\nname: n\\ndescription: d\\n---\\nn\\n' > .claude/skills/n/SKILL.md\n\
         echo {} > prpm.lock",
    );
    let skills = world.obtain(&[("x", "@s/n"), ("y", "https://prpm.dev/packages/s/n")]);
    assert_eq!((names(&skills), &skills.warnings), (vec!["n", "n-2"], &vec![]));
    assert_eq!(world.staged(&skills).into_keys().collect::<Vec<_>>(), ["n-2/SKILL.md", "n/SKILL.md"]);
    let read = |name: &str| fs::read_to_string(world.at("home/cache").join(name)).unwrap();
    assert_eq!((read("asked"), read("stdin")), ("-y prpm install s/n --as claude\n".into(), String::new()));
    assert!(!read("env").contains("not-for-installers"));
    assert!(read("where").contains("/.tmp-") && !Path::new(read("where").trim()).exists());
}

#[test]
fn pages_of_skills_sh_come_through_npx_and_links_between_agents_count_once() {
    let world = World::new();
    world.npx(
        "echo \"$@\" > ../../../asked; mkdir -p .agents/skills/x .claude/skills; echo text > .agents/skills/x/SKILL.md\n\
         ln -s ../../.agents/skills/x .claude/skills/x; echo {} > skills-lock.json",
    );
    let skills = world.obtain(&[("x", "https://skills.sh/o/r/x")]);
    assert_eq!((names(&skills), &skills.warnings), (vec!["x"], &vec![]));
    let asked = fs::read_to_string(world.at("home/cache/asked")).unwrap();
    assert_eq!(asked, "-y skills add o/r --skill x --agent claude-code -y\n");
}

#[test]
fn an_installer_that_fails_hangs_or_brings_nothing_is_one_warning() {
    let mut world = World::new();
    world.npx("echo 'no such package' >&2; exit 1");
    world.only_warning(&world.obtain(&[("x", "s/n")]), "`npx prpm` failed: no such package");
    world.npx("echo done");
    world.only_warning(
        &world.obtain(&[("x", "s/n")]),
        "`npx prpm` did not fetch the skill: it has no SKILL.md",
    );
    world.write("project/s/n/SKILL.md", A);
    world.only_warning(&world.obtain(&[("x", "s/n")]), "write `./s/n`");
    world.npx("sleep 300");
    let hung = world.obtain_within(&[("x", "s/n"), ("a", "./s/n")], Duration::from_millis(300));
    assert_eq!((names(&hung), hung.missing.len()), (vec!["a"], 1));
    assert!(hung.warnings[0].message.contains("`npx` did not end within"), "{hung:?}");
    let left: Vec<_> = fs::read_dir(world.at("home/cache/skills")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the local skill is in the cache: {left:?}");
    world.host.env.insert("PATH".into(), world.at("nothing").display().to_string());
    world.only_warning(&world.obtain(&[("x", "s/n")]), "`npx` is not on the PATH");
    world.only_warning(&world.obtain(&[("x", "file:///r.git")]), "`git` is not on the PATH");
}

#[test]
fn a_password_in_a_source_is_in_no_warning_and_in_no_file() {
    let world = World::new();
    let skills = world.obtain(&[("a", "http://user:hunter2hunter2@127.0.0.1:1/o/r")]);
    world.only_warning(&skills, "http://***@127.0.0.1:1/o/r: git failed");
    assert!(!format!("{skills:?}").contains("hunter2"), "{skills:?}");
}

#[test]
fn two_runs_at_once_get_the_same() {
    let world = World::new();
    world.write("r/SKILL.md", A);
    let url = world.publish("r", "home/r.git");
    let both: Vec<Skills> = std::thread::scope(|scope| {
        let one = || scope.spawn(|| world.obtain(&[("a", &url)]));
        let handles = [one(), one(), one()];
        handles.map(|handle| handle.join().unwrap()).into()
    });
    assert_eq!((names(&both[0]), &both[0].warnings), (vec!["a"], &vec![]));
    assert!(both.iter().all(|skills| *skills == both[0]));
}

#[test]
fn a_user_who_stops_is_not_kept_waiting() {
    let world = World::new();
    world.npx("sleep 300");
    let planned =
        PlannedSkill { id: "x".into(), source: "s/n".into(), kind: SkillKind::Prpm, description: None };
    let request = SkillRequest {
        skills: &[planned],
        persona_dir: None,
        project_root: &world.at("project"),
        rules: &[],
        cache: &world.at("home/cache/skills"),
        offline: false,
        refresh: false,
        strict: false,
        host: &world.host,
        stop: &|| true,
    };
    world.only_warning(&obtain(&request).unwrap(), "stopped");
}
