//! The only writer to stdout and stderr: data on stdout, everything said about it on stderr.
//! It formats; it never decides what is worth saying.

use crate::error::CommandError;
use crate::exit::Exit;
use crate::model::report::Status;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use rustix::fs::FileType;
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

pub mod bar;
pub mod chooser;
pub mod diagnostics;
pub mod keys;
pub mod patch;
pub mod progress;
pub mod raw_terminal;
pub mod steps;
pub mod table;
pub mod text;

pub use crate::model::printable::printable;
pub use table::Table;
use text::fitted;

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// clap's text as an error of ours: its first paragraph is the message, its tips are hints.
fn usage_error(text: &str) -> CommandError {
    let message: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let message = message.join(" ");
    let mut error = CommandError::usage(message.trim_start_matches("error: "));
    error.hints =
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned).collect();
    error.hint("`agentworkforce --help` shows the commands")
}

/// Of a terminal that does not say.
const USUAL_COLUMNS: usize = 80;
/// Takes away a line that the cursor is at the start of. A terminal that was made narrower since may have put the rest of it below.
const ERASED_LINE: &str = "\r\x1b[J";
/// Whether the last line of the terminal is one that the next output replaces. Diagnostics are written past `Ui`, from any thread.
static IS_LINE_DRAWN: AtomicBool = AtomicBool::new(false);
/// Ends a command that was only begun and would swallow all that follows; back to the first screen; region and margins of the whole
/// screen, without moving the cursor; wrapping; no mouse; usual letters and colours; and nothing below the cursor.
const TERMINAL_RESET: &str = "\x1b\\\x1b[?1047l\x1b[!p\x1b[?69l\x1b7\x1b[r\x1b8\x1b[?7h\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\
    \x1b(B\x0f\x1b[0m\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b[J";

/// Where a command says things. Colour goes away by itself when the stream is no terminal or `NO_COLOR` is set.
pub struct Ui {
    json: bool,
    /// What the command answers with where it is a run.
    run: Option<RunAnswer>,
    out: BufWriter<AutoStream<io::Stdout>>,
    err: Told,
    /// The first failure to write that is not a closed pipe: output is missing, so the exit code must say so.
    failure: Option<io::Error>,
    /// Nobody takes what is on stdout any more.
    is_closed: bool,
}

/// Where things are said: to whoever reads stderr, or to the person at a terminal, wherever stderr leads to.
enum Told {
    Stderr(AutoStream<io::Stderr>),
    Terminal(AutoStream<File>),
}

impl Told {
    /// Past any colour handling, if it is a terminal.
    fn command(&mut self, text: &str) {
        let _ = match self {
            Told::Stderr(_) if !io::stderr().is_terminal() => Ok(()),
            Told::Stderr(_) => io::stderr().write_all(text.as_bytes()),
            Told::Terminal(stream) => {
                stream.as_inner().try_clone().and_then(|mut file| file.write_all(text.as_bytes()))
            }
        };
    }
}

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Told::Stderr(stream) => stream.write(bytes),
            Told::Terminal(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Told::Stderr(stream) => stream.flush(),
            Told::Terminal(stream) => stream.flush(),
        }
    }
}

/// How a run answers in JSON: one object, or a line for every event with the report last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAnswer {
    Whole,
    Lines,
}

fn is_unescaped_control(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}')
}

/// JSON leaves these as they are, and a terminal obeys some of them. They can only be inside of strings.
fn escaped_controls(text: String) -> String {
    // In UTF-8 they are this byte, or start with this one, which hardly any text has.
    if !text.bytes().any(|byte| matches!(byte, 0x7f | 0xc2)) || !text.contains(is_unescaped_control) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 8), |mut result, c| {
        if is_unescaped_control(c) {
            result.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            result.push(c);
        }
        result
    })
}

/// Remembers why a stream took no more.
struct Watched<W> {
    out: W,
    failure: Option<io::Error>,
}

impl<W: Write> Watched<W> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                let again =
                    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
                self.failure.get_or_insert(again);
            }
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.watch(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.watch(result)
    }
}

impl Ui {
    pub fn new(json: bool) -> Ui {
        Ui {
            json,
            run: None,
            out: BufWriter::new(AutoStream::auto(io::stdout())),
            err: Told::Stderr(AutoStream::auto(io::stderr())),
            failure: None,
            is_closed: false,
        }
    }

    /// Says everything at this terminal. What was redirected gets none of it.
    pub fn at_terminal(terminal: File) -> Ui {
        Ui { err: Told::Terminal(AutoStream::auto(terminal)), ..Ui::new(false) }
    }

    /// From here on an error is the end of a run that was not started, and says so where a report would.
    pub fn answers_for_a_run(&mut self, answer: RunAnswer) {
        self.run = Some(answer);
    }

    /// Whether this command answers in JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// One line of human data on stdout.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.text(text.as_ref());
        self.text("\n");
    }

    /// Text on stdout exactly as it is.
    pub fn text(&mut self, text: &str) {
        self.end_progress();
        let result = self.out.write_all(text.as_bytes());
        self.note_failure(result);
    }

    /// Bytes on stdout past any colour handling: prompts and schemas that must arrive untouched.
    pub fn verbatim(&mut self, bytes: &[u8]) {
        self.end_progress();
        let result = self.out.flush().and_then(|()| io::stdout().lock().write_all(bytes));
        self.note_failure(result);
    }

    /// Other people's text on stdout: exactly as it is, but on a terminal nothing in it is an order.
    pub fn foreign(&mut self, text: &str) {
        if self.is_on_terminal() {
            self.text(&printable(text));
        } else {
            self.verbatim(text.as_bytes());
        }
    }

    /// Whether stdout is a terminal: bytes of other people's must not reach it as they are.
    pub fn is_on_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether stdout leads to another program, which may write to the terminal in its turn.
    pub fn is_piped(&self) -> bool {
        let stat = rustix::fs::fstat(io::stdout());
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo)
    }

    /// Bytes on stdout as they are made. When nobody takes them any more, that ends; it is no error of the writer's.
    pub fn stream(&mut self, write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.end_progress();
        self.flush();
        let mut out = BufWriter::new(Watched { out: io::stdout(), failure: None });
        let result = write(&mut out).and_then(|()| Ok(out.flush()?));
        match out.into_parts().0.failure {
            Some(failure) => {
                self.note_failure(Err(failure));
                Ok(())
            }
            None => result,
        }
    }

    /// The one JSON object of a command.
    pub fn json(&mut self, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).expect("our own values always serialise");
        let mut text = escaped_controls(text);
        text.push('\n');
        self.verbatim(text.as_bytes());
    }

    pub fn table(&mut self, table: &Table) {
        self.text(&table.render());
    }

    pub fn warning(&mut self, text: impl AsRef<str>) {
        self.say(&format!("{WARNING}warning:{WARNING:#} {}", text.as_ref()));
    }

    pub fn hint(&mut self, text: impl AsRef<str>) {
        self.say(&format!("{HINT}hint:{HINT:#} {}", text.as_ref()));
    }

    /// Progress and confirmations on stderr.
    pub fn say(&mut self, text: &str) {
        // Nobody can be told that stderr is broken.
        // In one write: a line is not torn, and thousands of them are not slow.
        self.end_progress();
        let _ = self.err.write_all(format!("{text}\n").as_bytes());
    }

    /// Many lines, a few of them at a time: one write for each would be slow.
    pub fn say_lines(&mut self, lines: impl Iterator<Item = String>) {
        self.end_progress();
        let mut text = String::new();
        for line in lines {
            text.push_str(&line);
            text.push('\n');
            if text.len() > 32 << 10 {
                let _ = self.err.write_all(text.as_bytes());
                text.clear();
            }
        }
        let _ = self.err.write_all(text.as_bytes());
    }

    /// The error for people on stderr and, in JSON mode, the same as the one object on stdout.
    pub fn error(&mut self, error: &CommandError) {
        self.say(&format!("{ERROR}error:{ERROR:#} {}", printable(&error.message)));
        for cause in &error.causes {
            self.say(&format!("  caused by: {}", printable(cause)));
        }
        for hint in &error.hints {
            self.hint(printable(hint));
        }
        if !self.json {
            return;
        }
        let mut answer = serde_json::json!({"schemaVersion": 1});
        if self.run == Some(RunAnswer::Lines) {
            answer["type"] = "report".into();
        }
        if self.run.is_some() {
            answer["outcome"] = serde_json::json!({
                "status": Status::NotStarted,
                "exitCode": error.exit.code(),
                "reason": error.message,
            });
        }
        answer["error"] = serde_json::json!({
            "kind": error.exit.word(),
            "exitCode": error.exit.code(),
            "message": error.message,
            "causes": error.causes,
            "hints": error.hints,
        });
        if self.run == Some(RunAnswer::Lines) {
            self.json_line(&answer.to_string());
        } else {
            self.json(&answer);
        }
    }

    /// The error for people alone, where the JSON is something else.
    pub fn explain(&mut self, error: &CommandError) {
        let json = std::mem::replace(&mut self.json, false);
        self.error(error);
        self.json = json;
    }

    /// One line of a stream of JSON objects, out at once: somebody may be waiting for it.
    pub fn json_line(&mut self, line: &str) {
        let mut text = escaped_controls(line.to_owned());
        text.push('\n');
        self.verbatim(text.as_bytes());
        let result = io::stdout().flush();
        self.note_failure(result);
    }

    /// Flushes stdout, so that its text comes before what follows on stderr.
    pub fn flush(&mut self) {
        let result = self.out.flush();
        self.note_failure(result);
    }

    /// Whether nobody takes what is on stdout any more: whoever writes on and on may end.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Sets a terminal back that others wrote to: whatever region, mode or colour they left, every line that follows can be read.
    pub fn reset_terminal(&mut self) {
        self.err.command(TERMINAL_RESET);
    }

    /// Whether messages go to a terminal.
    pub fn tells_a_terminal(&self) -> bool {
        match &self.err {
            Told::Stderr(_) => io::stderr().is_terminal(),
            Told::Terminal(_) => true,
        }
    }

    /// How many columns a line has that must not reach the next one: that could not be erased. Asked again for every line.
    pub fn columns(&self) -> usize {
        let size = match &self.err {
            Told::Stderr(_) => tcgetwinsize(io::stderr()),
            Told::Terminal(stream) => tcgetwinsize(stream.as_inner()),
        };
        let columns = size.map_or(0, |size| usize::from(size.ws_col));
        if columns == 0 { USUAL_COLUMNS - 1 } else { columns - 1 }
    }

    /// A line on a terminal that the next output replaces, whatever it is. The cursor waits at its start: there it stays when the
    /// terminal gets narrower and breaks the line.
    pub fn progress(&mut self, text: &str) {
        self.flush();
        let text = fitted(text, self.columns());
        // In one write, and without colours, too: the rest of a longer line would stay.
        self.err.command(&format!("{ERASED_LINE}{text}\r"));
        IS_LINE_DRAWN.store(true, Ordering::Relaxed);
    }

    /// Takes the line away, if there is one.
    pub fn end_progress(&mut self) {
        if IS_LINE_DRAWN.swap(false, Ordering::Relaxed) {
            self.err.command(ERASED_LINE);
        }
    }

    /// Rings the bell of the terminal, if that is where messages go.
    pub fn bell(&mut self) {
        self.err.command("\x07");
    }

    /// What clap says: help and version are data, everything else is an error of the caller's.
    pub fn usage(&mut self, error: &clap::Error) -> Result<Exit, CommandError> {
        let text = error.render().ansi().to_string();
        if !error.use_stderr() {
            self.text(&text);
            return Ok(Exit::Done);
        }
        if self.json {
            return Err(usage_error(&error.render().to_string()));
        }
        self.say(text.trim_end());
        Ok(Exit::Usage)
    }

    /// Flushes, and turns output that could not be written into a failure. A closed pipe is not one.
    #[must_use]
    pub fn finish(mut self, exit: Exit) -> Exit {
        let result = self.out.flush();
        self.note_failure(result);
        match self.failure.take() {
            Some(error) if exit == Exit::Done => {
                self.say(&format!("{ERROR}error:{ERROR:#} cannot write to standard output: {error}"));
                Exit::Internal
            }
            _ => exit,
        }
    }

    fn note_failure(&mut self, result: io::Result<()>) {
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }
}
