//! How long a mount takes to open, to close and to bring work back, beside `find`, `cp -a` and `git worktree add` in the same
//! run, and how much memory a large file costs.
//!
//! `cargo bench --bench mount` prints a line as soon as it is known and fails where a bar is missed; `-- --quick` stops at
//! 20,000 files. Everything is warm, commands that are compared take turns, and the fastest round counts: on a busy machine
//! only ratios mean anything.
//!
//! It runs in memory (`/dev/shm`) where there is room, else in the temp directory; `TMPDIR` has the last word. On a disk two
//! runs of the same `cp -a` can differ tenfold by what was deleted before, and then nothing could be told from a ratio.

#[path = "rows.rs"]
mod rows;

use rows::{BINARY as AGENTWORKFORCE, Row};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MOST_TIMES_FIND: f64 = 1.5;
const MOST_MILLIS_LATER: f64 = 40.0;
const MOST_TIMES_SMALL_APPLY: f64 = 2.0;
const MOST_TIMES_FIND_NEWER: f64 = 1.5;
const MOST_TIMES_FIND_IN_ALL: f64 = 2.0;
const MOST_TIMES_COPY_OF_NEW: f64 = 1.5;
const MOST_MEGABYTES_MORE: f64 = 4.0;
const CHANGED_FILES: usize = 10;
const NEW_FILES: usize = 40_000;
const LARGE_FILE: usize = 400 << 20;
/// What the trees and the copies of them need at most, with room to spare.
const ROOM: u64 = 6 << 30;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    // Peak memory of children is only known of a process's own, so each is measured from a process of its own.
    if let Some(at) = args.iter().position(|arg| arg == "--peak") {
        print_peak(&args[at + 1..]);
        return ExitCode::SUCCESS;
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let sizes: &[usize] = if quick { &[0, 100, 1_000, 20_000] } else { &[0, 100, 1_000, 20_000, 100_000] };
    let begun = Instant::now();
    let mut bars = Bars::default();
    {
        let world = World::new();
        say(&format!("in {}, a {}; times in ms", world.dir.path().display(), world.filesystem()));
        let trees: Vec<Tree> = sizes.iter().map(|&files| world.repository(files)).collect();
        say(&format!("trees made in {:.0} s", begun.elapsed().as_secs_f64()));
        overlay(&world, &trees, &mut bars);
        copy(&world, &trees[1..], &mut bars);
        overlay_apply(&world, &trees[1..], &mut bars);
        copy_apply(&world, &trees[1..], &mut bars);
        bulk_apply(&world, &mut bars);
        memory(&world, &mut bars);
    }
    if quick {
        say("\nquick: the bars for 100,000 files are not checked");
    }
    let exit = bars.print();
    say(&format!("\n{:.0} s in all", begun.elapsed().as_secs_f64()));
    exit
}

/// The sizes take turns, too: their times are compared with each other.
fn overlay(world: &World, trees: &[Tree], bars: &mut Bars) {
    let mut table = Table::new("overlay, fastest of 8", trees, &["true", "find", "open", "close"]);
    for _ in 0..8 {
        for tree in trees {
            table.add("true", tree, world.time(tree, &["true"]));
            table.add("find", tree, world.time(tree, &["find", "."]));
            let (open, close) = world.open_and_close(tree, "overlay");
            table.add("open", tree, open);
            table.add("close", tree, close);
            world.prune(tree);
        }
    }
    table.print_all(trees);
    for tree in trees.iter().filter(|tree| tree.files >= 20_000) {
        let args = ["mount", "--mount", "overlay", "--apply", "auto", "--", "true"];
        row(&table, tree, "open an overlay", "open", "find", Some(world.peak_megabytes(tree, &args)));
        world.prune(tree);
    }
    if let Some(ratio) = table.ratio(100_000, "open", "find") {
        bars.at_most("overlay open with 100,000 files, in times of `find`", ratio, MOST_TIMES_FIND);
    }
    if table.ratio(100_000, "open", "find").is_some() {
        let session = |files: usize| table.get(files, "open") + table.get(files, "close");
        let more = session(100_000) - session(0);
        let find = table.get(100_000, "find");
        Row {
            key: "",
            what: "what 100,000 files add to a short session",
            millis: Some(more),
            megabytes: None,
            floor: "`find`",
            floor_millis: Some(find),
            floor_megabytes: None,
        }
        .write();
        let name = "what 100,000 files add to a short session, in times of `find`";
        bars.at_most(name, more / find, MOST_TIMES_FIND_IN_ALL);
    }
    let later = table.get(20_000, "open") - table.get(0, "open");
    bars.at_most("the command starts later with 20,000 files than with none, ms", later, MOST_MILLIS_LATER);
}

fn copy(world: &World, trees: &[Tree], bars: &mut Bars) {
    let columns = ["open", "close", "cp -a", "rm -r", "worktree add", "remove"];
    let mut table = Table::new("copy, fastest of 3", trees, &columns);
    table.print_head();
    for tree in trees {
        for round in 0..3 {
            world.sync();
            let (open, close) = world.open_and_close(tree, "copy");
            table.add("open", tree, open);
            table.add("close", tree, close);
            world.prune(tree);
            world.sync();
            table.add("cp -a", tree, world.time(tree, &["cp", "-a", ".", "../copy"]));
            table.add("rm -r", tree, world.time(tree, &["rm", "-r", "../copy"]));
            // Slow and under no bar.
            if round > 0 && tree.files > 20_000 {
                continue;
            }
            world.sync();
            let add = ["git", "worktree", "add", "-q", "--detach", "../linked"];
            table.add("worktree add", tree, world.time(tree, &add));
            let remove = ["git", "worktree", "remove", "--force", "../linked"];
            table.add("remove", tree, world.time(tree, &remove));
        }
        table.print(tree);
        if tree.files >= 20_000 {
            let args = ["mount", "--mount", "copy", "--apply", "auto", "--", "true"];
            row(&table, tree, "open a copy", "open", "cp -a", Some(world.peak_megabytes(tree, &args)));
            world.prune(tree);
        }
    }
    for files in [20_000, 100_000] {
        if let Some(ratio) = table.ratio(files, "open", "cp -a") {
            bars.at_most(
                &format!("copy open with {} files, in times of `cp -a`", grouped(files)),
                ratio,
                1.0,
            );
        }
    }
}

fn overlay_apply(world: &World, trees: &[Tree], bars: &mut Bars) {
    let title = format!("overlay, {CHANGED_FILES} changed files, fastest of 8");
    let mut table = Table::new(&title, trees, &["diff", "apply", "diff + apply"]);
    for _ in 0..8 {
        for tree in trees {
            world.change(tree, "overlay");
            let diff = world.time(tree, &[AGENTWORKFORCE, "sessions", "diff", "mount"]);
            let apply = world.time(tree, &[AGENTWORKFORCE, "sessions", "apply", "mount"]);
            table.add("diff", tree, diff);
            table.add("apply", tree, apply);
            table.add("diff + apply", tree, diff + apply);
            world.prune(tree);
        }
    }
    table.print_all(trees);
    let large = trees.last().expect("some").files;
    Row {
        key: "",
        what: &format!("diff and apply {CHANGED_FILES} changes, {} files", grouped(large)),
        millis: Some(table.get(large, "diff + apply")),
        megabytes: None,
        floor: "the same, 100 files",
        floor_millis: Some(table.get(100, "diff + apply")),
        floor_megabytes: None,
    }
    .write();
    let ratio = table.get(large, "diff + apply") / table.get(100, "diff + apply");
    let name = format!("diff and apply with {} files, in times of the same with 100", grouped(large));
    bars.at_most(&name, ratio, MOST_TIMES_SMALL_APPLY);
}

fn copy_apply(world: &World, trees: &[Tree], bars: &mut Bars) {
    let title = format!("copy, {CHANGED_FILES} changed files, fastest of 3");
    let mut table = Table::new(&title, trees, &["find -newer", "diff", "apply"]);
    table.print_head();
    for tree in trees {
        for _ in 0..3 {
            world.change(tree, "copy");
            let newer = ["find", ".", "-newer", ".git/HEAD", "-type", "f"];
            table.add("find -newer", tree, world.time(tree, &newer));
            table.add("diff", tree, world.time(tree, &[AGENTWORKFORCE, "sessions", "diff", "mount"]));
            // What the removal of the copied tree costs is not the comparison's to pay.
            let apply = [AGENTWORKFORCE, "sessions", "apply", "mount", "--keep"];
            table.add("apply", tree, world.time(tree, &apply));
            world.prune(tree);
        }
        table.print(tree);
    }
    if let Some(ratio) = table.ratio(100_000, "apply", "find -newer") {
        let name = "copy: changes and apply with 100,000 files, in times of `find -newer`";
        bars.at_most(name, ratio, MOST_TIMES_FIND_NEWER);
    }
}

/// A run that adds very many files, and the same by `cp -a`.
fn bulk_apply(world: &World, bars: &mut Bars) {
    let source = world.repository(NEW_FILES);
    std::fs::remove_dir_all(source.dir.join(".git")).expect("our own");
    let source = source.dir.to_str().expect("a plain path").to_owned();
    let tree = world.tree("bulk", NEW_FILES);
    world.time(&tree, &["git", "init", "-q", "-b", "main"]);
    let (mut apply, mut copy) = (Duration::MAX, Duration::MAX);
    for _ in 0..6 {
        world.sync();
        copy = copy.min(world.time(&tree, &["cp", "-a", &source, "../copy"]));
        world.time(&tree, &["rm", "-r", "../copy"]);
        world.run(
            &tree,
            &["mount", "--mount", "overlay", "--apply", "never", "--", "cp", "-a", &source, "new"],
        );
        world.sync();
        apply = apply.min(world.time(&tree, &[AGENTWORKFORCE, "sessions", "apply", "mount", "--keep"]));
        world.time(&tree, &["rm", "-r", "new"]);
        world.prune(&tree);
    }
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let (apply, copy) = (millis(apply), millis(copy));
    let what = format!("apply {} new files", grouped(NEW_FILES));
    bars.at_most(&format!("{what}, in times of `cp -a` of them"), apply / copy, MOST_TIMES_COPY_OF_NEW);
    say(&format!("\n{what}: {apply:.0}, `cp -a` of them: {copy:.0}"));
    Row {
        key: "",
        what: &what,
        millis: Some(apply),
        megabytes: None,
        floor: "`cp -a` of them",
        floor_millis: Some(copy),
        floor_megabytes: None,
    }
    .write();
}

/// One column of a table beside another.
fn row(table: &Table, tree: &Tree, what: &str, column: &str, floor: &str, megabytes: Option<f64>) {
    Row {
        key: "",
        what: &format!("{what}, {} files", grouped(tree.files)),
        millis: Some(table.get(tree.files, column)),
        megabytes,
        floor: &format!("`{floor}`"),
        floor_millis: Some(table.get(tree.files, floor)),
        floor_megabytes: None,
    }
    .write();
}

/// The same run in two trees that differ in the size of one file.
fn memory(world: &World, bars: &mut Bars) {
    let [small, large] = [("small", 4096), ("large", LARGE_FILE)].map(|(name, size)| {
        let tree = world.tree(name, 1);
        write_large(&tree.dir.join("data.bin"), size);
        tree
    });
    say(&format!(
        "\n{:<40} {:>12} {:>12} {:>12}",
        "peak memory (MB) with a file of", "4 KB", "400 MB", "more"
    ));
    let mut most = 0.0_f64;
    let mut largest = [0.0_f64; 2];
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
            let name = format!("{backend}: {name}");
            say(&format!("{name:<40} {:>12.1} {:>12.1} {more:>12.1}", peaks[0], peaks[1]));
            largest = if peaks[1] > largest[1] { peaks } else { largest };
            if last {
                world.prune(&small);
                world.prune(&large);
            }
        }
    }
    Row {
        key: "large file",
        what: "run, diff, apply and undo with a file of 400 MB",
        millis: None,
        megabytes: Some(largest[1]),
        floor: "the same, a file of 4 KB",
        floor_millis: None,
        floor_megabytes: Some(largest[0]),
    }
    .write();
    bars.at_most("memory with a file of 400 MB, MB more than with one of 4 KB", most, MOST_MEGABYTES_MORE);
}

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
        let mut builder = tempfile::Builder::new();
        builder.prefix("aw-bench-");
        let in_memory = Path::new("/dev/shm");
        let dir = if std::env::var_os("TMPDIR").is_none() && has_room(in_memory) {
            builder.tempdir_in(in_memory)
        } else {
            builder.tempdir()
        };
        World { dir: dir.expect("a temp directory") }
    }

    fn filesystem(&self) -> String {
        let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(self.dir.path()).output();
        output.map_or_else(
            |_| "filesystem".into(),
            |out| String::from_utf8_lossy(&out.stdout).trim().to_owned(),
        )
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
        std::fs::remove_file(&import).expect("our own file");
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
        let time = start.elapsed();
        assert!(status.success(), "{command:?}: {status}");
        time
    }

    fn run(&self, tree: &Tree, args: &[&str]) {
        self.time(tree, &[&[AGENTWORKFORCE], args].concat());
    }

    /// How long until a command in a mount of the tree starts, and from then on until the mount is gone again.
    fn open_and_close(&self, tree: &Tree, backend: &str) -> (Duration, Duration) {
        let words = [AGENTWORKFORCE, "mount", "--mount", backend, "--apply", "auto", "--", "date", "+%s%N"];
        let mut command = self.command(tree, &words);
        let (asked, clock) = (SystemTime::now(), Instant::now());
        let output = command.stdout(Stdio::piped()).output().expect("it runs");
        let whole = clock.elapsed();
        assert!(output.status.success(), "{command:?}: {}", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        let started: u64 = text.lines().next().unwrap_or_default().parse().expect("a time");
        let asked = asked.duration_since(UNIX_EPOCH).expect("later than 1970");
        let open = Duration::from_nanos(started).saturating_sub(asked);
        (open, whole.saturating_sub(open))
    }

    /// Changes a few files in a mount and leaves the work in its session.
    fn change(&self, tree: &Tree, backend: &str) {
        // A file that was changed within a tick of the launch would count as changed by the user.
        std::thread::sleep(Duration::from_millis(30));
        let last = CHANGED_FILES - 1;
        // Small trees have fewer directories.
        let file = if tree.files < CHANGED_FILES * 20 { "e0/f$n" } else { "e$n/f$((n*20))" };
        let script = format!("for n in $(seq 0 {last}); do echo changed >> d0/{file}.rs; done");
        self.run(tree, &["mount", "--mount", backend, "--apply", "never", "--", "sh", "-c", &script]);
        self.sync();
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

/// One row a size, one column a command; the fastest time of each.
struct Table {
    title: String,
    columns: Vec<&'static str>,
    /// By number of files; parallel to the columns.
    rows: Vec<(usize, Vec<Option<Duration>>)>,
}

impl Table {
    fn new(title: &str, trees: &[Tree], columns: &[&'static str]) -> Table {
        let rows = trees.iter().map(|tree| (tree.files, vec![None; columns.len()])).collect();
        Table { title: title.to_owned(), columns: columns.to_vec(), rows }
    }

    fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| *column == name).expect("a column of the table")
    }

    fn add(&mut self, column: &str, tree: &Tree, time: Duration) {
        let column = self.column(column);
        let row = self.rows.iter_mut().find(|(files, _)| *files == tree.files).expect("a row of the table");
        let fastest = row.1[column].get_or_insert(time);
        *fastest = time.min(*fastest);
    }

    /// In milliseconds.
    fn get(&self, files: usize, column: &str) -> f64 {
        self.try_get(files, column).expect("measured")
    }

    fn try_get(&self, files: usize, column: &str) -> Option<f64> {
        let (_, times) = self.rows.iter().find(|(known, _)| *known == files)?;
        times[self.column(column)].map(|time| time.as_secs_f64() * 1000.0)
    }

    /// `None` where there is no tree of that size.
    fn ratio(&self, files: usize, column: &str, to: &str) -> Option<f64> {
        Some(self.try_get(files, column)? / self.try_get(files, to)?)
    }

    fn print_head(&self) {
        let mut line = format!("\n{:<40}", self.title);
        for column in &self.columns {
            line += &format!(" {column:>12}");
        }
        say(&line);
    }

    fn print(&self, tree: &Tree) {
        let mut line = format!("{:<40}", format!("{} files", grouped(tree.files)));
        for column in &self.columns {
            let cell = self.try_get(tree.files, column);
            line += &cell.map_or_else(|| format!(" {:>12}", "-"), |millis| format!(" {millis:>12.1}"));
        }
        say(&line);
    }

    fn print_all(&self, trees: &[Tree]) {
        self.print_head();
        for tree in trees {
            self.print(tree);
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
        say(&format!("\n{:<72} {:>7} {:>8}", "bars", "is", "at most"));
        let mut missed = false;
        for (name, value, most) in &self.checked {
            let miss = value > most;
            missed |= miss;
            say(&format!("{name:<72} {value:>7.2} {most:>8.1}{}", if miss { "  MISSED" } else { "" }));
        }
        if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// A line that is seen at once, also through a pipe.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("stdout is open");
}

fn grouped(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}

/// Whether a filesystem in memory may take the trees without starving the machine.
fn has_room(dir: &Path) -> bool {
    let free = rustix::fs::statvfs(dir).is_ok_and(|stat| stat.f_bavail * stat.f_frsize >= ROOM);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = available.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    free && kilobytes.is_some_and(|kilobytes| kilobytes * 1024 >= ROOM)
}

fn print_peak(words: &[String]) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().expect("it runs");
    assert!(status.success(), "{command:?}: {status}");
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage");
    println!("{}", usage.max_rss());
}
