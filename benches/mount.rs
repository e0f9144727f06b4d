//! How long a mount takes to open, to close and to bring work back, beside `find`, `cp -a` and `git worktree add` in the same
//! run, and how much memory a large file costs.
//!
//! `cargo bench --bench mount` prints the tables and fails where a bar is missed; `-- --quick` stops at 20,000 files.
//! Everything is warm, and the rounds of all commands are interleaved: on a busy machine only ratios mean anything.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MOST_TIMES_FIND: f64 = 1.5;
const MOST_MILLIS_LATER: f64 = 40.0;
const MOST_TIMES_SMALL_APPLY: f64 = 2.0;
const MOST_TIMES_FIND_NEWER: f64 = 1.5;
const MOST_MEGABYTES_MORE: f64 = 4.0;
const CHANGED_FILES: usize = 10;
const LARGE_FILE: usize = 400 << 20;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    // Peak memory of children is only known of a process's own, so each is measured from a process of its own.
    if let Some(at) = args.iter().position(|arg| arg == "--peak") {
        print_peak(&args[at + 1..]);
        return ExitCode::SUCCESS;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let sizes: &[usize] = if quick { &[0, 100, 1_000, 20_000] } else { &[0, 100, 1_000, 20_000, 100_000] };
    let mut bars = Bars::default();
    {
        let world = World::new();
        let trees: Vec<Tree> = sizes.iter().map(|&files| world.repository(files)).collect();
        open_and_close(&world, &trees, &mut bars);
        apply(&world, &trees[1..], &mut bars);
        memory(&world, &mut bars);
    }
    if quick {
        println!("\nquick: the bars for 100,000 files are not checked");
    }
    bars.print()
}

fn open_and_close(world: &World, trees: &[Tree], bars: &mut Bars) {
    let mut table = Table::default();
    // The light commands of all sizes take turns, then the heavy ones of each size.
    for _ in 0..8 {
        for tree in trees {
            table.add("true", tree, world.time(tree, &["true"]));
            table.add("find", tree, world.time(tree, &["find", "."]));
            let (start, whole) = world.open(tree, "overlay");
            table.add("overlay, until the command starts", tree, start);
            table.add("overlay, whole run of `date`", tree, whole);
            world.prune(tree);
        }
    }
    for tree in trees {
        let rounds = if tree.files > 20_000 { 2 } else { 3 };
        for round in 0..rounds {
            world.sync();
            let (start, whole) = world.open(tree, "copy");
            table.add("copy, until the command starts", tree, start);
            table.add("copy, whole run of `date`", tree, whole);
            world.prune(tree);
            for (row, script) in [
                ("cp -a", "cp -a . ../copy"),
                ("cp -a without .git", "mkdir ../copy && cp -a $(ls -A | grep -vx .git) ../copy"),
            ] {
                world.sync();
                table.add(row, tree, world.time(tree, &["sh", "-c", script]));
                std::fs::remove_dir_all(world.path("copy")).expect("our own directory");
            }
            // Slow and under no bar.
            if round > 0 && tree.files > 20_000 {
                continue;
            }
            world.sync();
            let add = ["git", "worktree", "add", "-q", "--detach", "../linked"];
            table.add("git worktree add", tree, world.time(tree, &add));
            let remove = ["git", "worktree", "remove", "--force", "../linked"];
            table.add("git worktree remove", tree, world.time(tree, &remove));
        }
    }
    table.print("open and close (ms, min of 8; copies min of 3, of 2 with 100,000)");

    let start = "overlay, until the command starts";
    if table.has(100_000) {
        let ratio = table.get(start, 100_000) / table.get("find", 100_000);
        bars.at_most("overlay open with 100,000 files, in times of `find`", ratio, MOST_TIMES_FIND);
    }
    let later = table.get(start, 20_000) - table.get(start, 0);
    bars.at_most("the command starts later with 20,000 files than with none, ms", later, MOST_MILLIS_LATER);
    for files in [20_000, 100_000].into_iter().filter(|&files| table.has(files)) {
        // The index and the refs are copied too and the objects borrowed, so the fair opponent lies between the two.
        for opponent in ["cp -a", "cp -a without .git"] {
            let ratio = table.get("copy, whole run of `date`", files) / table.get(opponent, files);
            bars.at_most(&format!("copy with {files} files, in times of `{opponent}`"), ratio, 1.0);
        }
    }
}

fn apply(world: &World, trees: &[Tree], bars: &mut Bars) {
    let mut table = Table::default();
    let script =
        format!("for n in $(seq 0 {}); do echo changed >> d0/e$n/f$((n*20)).rs; done", CHANGED_FILES - 1);
    let change = |tree: &Tree, backend: &str| {
        // Small trees have fewer directories.
        let script = if tree.files < CHANGED_FILES * 20 {
            script.replace("e$n/f$((n*20))", "e0/f$n")
        } else {
            script.clone()
        };
        world.run(tree, &["mount", "--mount", backend, "--apply", "never", "--", "sh", "-c", &script]);
        world.sync();
    };
    for _ in 0..6 {
        for tree in trees {
            change(tree, "overlay");
            table.add(
                "overlay, sessions diff",
                tree,
                world.time(tree, &[AGENTWORKFORCE, "sessions", "diff", "mount"]),
            );
            table.add(
                "overlay, sessions apply",
                tree,
                world.time(tree, &[AGENTWORKFORCE, "sessions", "apply", "mount"]),
            );
            world.prune(tree);
        }
    }
    for _ in 0..2 {
        for tree in trees {
            change(tree, "copy");
            let newer = ["find", ".", "-newer", ".git/HEAD", "-type", "f"];
            table.add("find -newer", tree, world.time(tree, &newer));
            table.add(
                "copy, sessions diff",
                tree,
                world.time(tree, &[AGENTWORKFORCE, "sessions", "diff", "mount"]),
            );
            // What the removal of the copied tree costs is not the comparison's to pay.
            let apply = [AGENTWORKFORCE, "sessions", "apply", "mount", "--keep"];
            table.add("copy, sessions apply --keep", tree, world.time(tree, &apply));
            world.prune(tree);
        }
    }
    table.print(&format!("{CHANGED_FILES} changed files (ms, min of 6; copies min of 2)"));
    let (small, large) = (100, trees.last().expect("some").files);
    let row = "overlay, sessions apply";
    let ratio = table.get(row, large) / table.get(row, small);
    bars.at_most(
        &format!("diff and apply with {large} files, in times of the same with 100"),
        ratio,
        MOST_TIMES_SMALL_APPLY,
    );
    if large == 100_000 {
        let ratio = table.get("copy, sessions apply --keep", large) / table.get("find -newer", large);
        bars.at_most(
            "copy: diff and apply with 100,000 files, in times of `find -newer`",
            ratio,
            MOST_TIMES_FIND_NEWER,
        );
    }
}

/// The same run in two trees that differ in the size of one file.
fn memory(world: &World, bars: &mut Bars) {
    let [small, large] = [("small", 4096), ("large", LARGE_FILE)].map(|(name, size)| {
        let tree = world.tree(name, 1);
        write_large(&tree.dir.join("data.bin"), size);
        tree
    });
    println!("\n{:<52} {:>10} {:>10} {:>8}", "peak memory (MB) with a file of", "4 KB", "400 MB", "more");
    let mut most = 0.0_f64;
    for backend in ["overlay", "copy"] {
        let run = |policy| vec!["mount", "--mount", backend, "--apply", policy, "--"];
        let append = |policy| [run(policy), vec!["sh", "-c", "printf more >> data.bin"]].concat();
        for (name, args, last) in [
            ("unchanged, applied", [run("auto"), vec!["true"]].concat(), true),
            ("changed, held", append("never"), false),
            ("its diff", vec!["sessions", "diff", "mount"], false),
            ("its apply", vec!["sessions", "apply", "mount"], false),
            ("its undo", vec!["sessions", "undo", "mount"], true),
        ] {
            let peaks = [&small, &large].map(|tree| world.peak_megabytes(tree, &args));
            let more = peaks[1] - peaks[0];
            most = most.max(more);
            println!(
                "{:<52} {:>10.1} {:>10.1} {more:>8.1}",
                format!("{backend}: {name}"),
                peaks[0],
                peaks[1]
            );
            if last {
                world.prune(&small);
                world.prune(&large);
            }
        }
    }
    bars.at_most("memory with a file of 400 MB, MB more than with one of 4 KB", most, MOST_MEGABYTES_MORE);
}

const AGENTWORKFORCE: &str = env!("CARGO_BIN_EXE_agentworkforce");

/// A temp directory for everything.
struct World {
    dir: tempfile::TempDir,
}

/// A work tree with so many files, and a home of its own for its sessions.
struct Tree {
    dir: PathBuf,
    home: PathBuf,
    files: usize,
}

impl World {
    fn new() -> World {
        World { dir: tempfile::Builder::new().prefix("aw-bench-").tempdir().expect("a temp directory") }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    fn tree(&self, name: &str, files: usize) -> Tree {
        let tree = Tree { dir: self.path(name), home: self.path(&format!("home-{name}")), files };
        for dir in [&tree.dir, &tree.home] {
            std::fs::create_dir(dir).expect("writable");
        }
        tree
    }

    /// Small files in directories of twenty, a secret that git ignores and one that it tracks; committed in one pack.
    fn repository(&self, files: usize) -> Tree {
        let tree = self.tree(&format!("tree-{files}"), files);
        self.time(&tree, &["git", "init", "-q", "-b", "main"]);
        let import = self.path("import");
        write_import(&import, files).expect("writable");
        let mut command = self.command(&tree, &["git", "fast-import", "--quiet"]);
        command.stdin(File::open(&import).expect("readable"));
        assert!(command.status().expect("git runs").success());
        self.time(&tree, &["git", "reset", "-q", "--hard"]);
        std::fs::write(tree.dir.join(".env"), "SECRET=1\n").expect("writable");
        tree
    }

    fn command(&self, tree: &Tree, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("HOME", &tree.home).current_dir(&tree.dir);
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn time(&self, tree: &Tree, words: &[&str]) -> Duration {
        let mut command = self.command(tree, words);
        let start = Instant::now();
        let status = command.status().expect("it runs");
        assert!(status.success(), "{command:?}: {status}");
        start.elapsed()
    }

    fn run(&self, tree: &Tree, args: &[&str]) {
        self.time(tree, &[&[AGENTWORKFORCE], args].concat());
    }

    /// How long until a command in a mount of the tree starts, and until all is over.
    fn open(&self, tree: &Tree, backend: &str) -> (Duration, Duration) {
        let words = [AGENTWORKFORCE, "mount", "--mount", backend, "--apply", "never", "--", "date", "+%s%N"];
        let mut command = self.command(tree, &words);
        let (start, clock) = (SystemTime::now(), Instant::now());
        let output = command.stdout(Stdio::piped()).output().expect("it runs");
        let whole = clock.elapsed();
        assert!(output.status.success(), "{command:?}: {}", output.status);
        let started: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a time");
        let asked = start.duration_since(UNIX_EPOCH).expect("later than 1970");
        (Duration::from_nanos(started).saturating_sub(asked), whole)
    }

    fn prune(&self, tree: &Tree) {
        self.run(tree, &["sessions", "prune", "--older-than", "0s", "--force"]);
    }

    /// What earlier commands left to be written must not slow down the next one.
    fn sync(&self) {
        rustix::fs::syncfs(File::open(self.dir.path()).expect("our own directory"))
            .expect("it can be synced");
    }

    fn peak_megabytes(&self, tree: &Tree, args: &[&str]) -> f64 {
        let this = std::env::current_exe().expect("this program");
        let words = [&[this.to_str().expect("a plain path"), "--peak", AGENTWORKFORCE], args].concat();
        let mut command = self.command(tree, &words);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output().expect("it runs");
        let kilobytes: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        kilobytes / 1024.0
    }
}

/// The commit with all files, for `git fast-import`.
fn write_import(path: &Path, files: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(b"commit refs/heads/main\ncommitter b <b@b> 1700000000 +0000\ndata 1\nx\n")?;
    let mut add =
        |name: &str, text: &str| write!(out, "M 100644 inline {name}\ndata {}\n{text}\n", text.len());
    add(".gitignore", ".env\n")?;
    add("fixtures/test.pem", "a key\n")?;
    for number in 0..files {
        let (outer, inner) = (number / 400, number / 20 % 20);
        let text = format!("// this is line of file {number}\n").repeat(5 + number % 60);
        add(&format!("d{outer}/e{inner}/f{number}.rs"), &text)?;
    }
    out.flush()
}

/// No hole, and nothing that compresses by itself.
fn write_large(path: &Path, size: usize) {
    let block: Vec<u8> =
        (0..4096_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut out = File::create(path).expect("writable");
    let mut left = size;
    while left > 0 {
        let part = left.min(block.len());
        out.write_all(&block[..part]).expect("there is space");
        left -= part;
    }
}

/// The fastest time of each row, by number of files.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, BTreeMap<usize, Duration>)>,
}

impl Table {
    fn add(&mut self, row: &'static str, tree: &Tree, time: Duration) {
        let at = self.rows.iter().position(|(name, _)| *name == row).unwrap_or_else(|| {
            self.rows.push((row, BTreeMap::new()));
            self.rows.len() - 1
        });
        let fastest = self.rows[at].1.entry(tree.files).or_insert(time);
        *fastest = time.min(*fastest);
    }

    fn has(&self, files: usize) -> bool {
        self.rows.iter().any(|(_, times)| times.contains_key(&files))
    }

    /// In milliseconds.
    fn get(&self, row: &str, files: usize) -> f64 {
        let (_, times) = self.rows.iter().find(|(name, _)| *name == row).expect("a row of the table");
        times[&files].as_secs_f64() * 1000.0
    }

    fn print(&self, title: &str) {
        println!("\n{title}");
        print!("{:<36}", "files");
        for files in self.rows[0].1.keys() {
            print!(" {files:>9}");
        }
        println!();
        for (name, times) in &self.rows {
            print!("{name:<36}");
            for time in times.values() {
                print!(" {:>9.1}", time.as_secs_f64() * 1000.0);
            }
            println!();
        }
    }
}

#[derive(Default)]
struct Bars {
    checked: Vec<(String, f64, f64)>,
}

impl Bars {
    fn at_most(&mut self, name: &str, value: f64, most: f64) {
        self.checked.push((name.to_owned(), value, most));
    }

    fn print(&self) -> ExitCode {
        println!("\n{:<72} {:>7} {:>8}", "bars", "is", "at most");
        let mut missed = false;
        for (name, value, most) in &self.checked {
            let miss = value > most;
            missed |= miss;
            println!("{name:<72} {value:>7.2} {most:>8.1}{}", if miss { "  MISSED" } else { "" });
        }
        if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn print_peak(words: &[String]) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null());
    let status = command.status().expect("it runs");
    assert!(status.success(), "{command:?}: {status}");
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage");
    println!("{}", usage.max_rss());
}
