//! A terminal with a program in it: what is typed goes in, what is shown can be read.

use super::processes;
use nix::pty::{OpenptyResult, Winsize, openpty};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Rows and columns.
pub const SIZE: (u16, u16) = (50, 150);

/// How long a key may be without effect before it is pressed again.
const PATIENCE_FOR_A_KEY: Duration = Duration::from_secs(8);

pub struct Terminal {
    /// The world that its processes belong to.
    root: PathBuf,
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts the command with the terminal as its own, in a session of its own.
    #[track_caller]
    pub fn open(root: PathBuf, command: &Command, (rows, columns): (u16, u16)) -> Terminal {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).expect("a terminal");
        // To take a terminal is a matter between fork and exec; setsid does it without unsafe code of ours.
        let mut in_terminal = Command::new("setsid");
        in_terminal.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        if let Some(dir) = command.get_current_dir() {
            in_terminal.current_dir(dir);
        }
        in_terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let child = in_terminal.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid runs");
        // The command holds copies of our side until it goes; ours must not keep the terminal open after that.
        drop(in_terminal);
        drop(slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let keyboard = File::from(master);
        let display = keyboard.try_clone().expect("a descriptor");
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || show(display, &shown));
        Terminal { root, child, keyboard, screen }
    }

    /// What it shows now.
    pub fn screen(&self) -> String {
        self.screen.lock().expect("no thread panicked with it").screen().contents()
    }

    /// The same with its colours.
    #[allow(dead_code)]
    pub fn snapshot(&self) -> vt100::Screen {
        self.screen.lock().expect("no thread panicked with it").screen().clone()
    }

    /// Types a text. `\r` is Enter, `\x03` Ctrl-C, `\x1b` Escape.
    pub fn type_text(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal is open");
    }

    /// Types a text and, when the program has it on the screen, Enter: programs take what comes at once for a paste.
    #[track_caller]
    pub fn enter(&mut self, text: &str) {
        self.type_text(text);
        self.insist(text, text, Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(300));
        self.type_text("\r");
    }

    /// Asks the program something and waits for the answer.
    #[track_caller]
    pub fn ask(&mut self, question: &str, answer: &str, timeout: Duration) {
        self.enter(question);
        self.insist("\r", answer, timeout);
    }

    /// Presses a key until this is on the screen. A key that comes while a program draws a new dialog may be lost: a
    /// person presses it again.
    #[track_caller]
    pub fn press(&mut self, key: &str, until: &str, timeout: Duration) {
        self.type_text(key);
        self.insist(key, until, timeout);
    }

    #[track_caller]
    fn insist(&mut self, key: &str, until: &str, timeout: Duration) {
        let end = Instant::now() + timeout;
        let mut again = Instant::now() + PATIENCE_FOR_A_KEY;
        while !self.screen().contains(until) {
            assert!(Instant::now() < end, "waited {timeout:?} for {until:?}:\n{}", self.screen());
            if Instant::now() > again {
                self.type_text(key);
                again = Instant::now() + PATIENCE_FOR_A_KEY;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_for(&self, text: &str, timeout: Duration) {
        self.wait_until(&format!("{text:?} to appear"), timeout, |screen| screen.contains(text));
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, timeout: Duration, holds: impl Fn(&str) -> bool) {
        let end = Instant::now() + timeout;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return;
            }
            assert!(Instant::now() < end, "waited {timeout:?} for {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits for the program to end by itself.
    #[track_caller]
    pub fn wait_for_end(&mut self, timeout: Duration) -> ExitStatus {
        let end = Instant::now() + timeout;
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status;
            }
            assert!(Instant::now() < end, "it did not end within {timeout:?}:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses Ctrl-C until this is on the screen: some programs ask for a second one before they go.
    #[track_caller]
    pub fn leave(&mut self, until: &str, timeout: Duration) {
        let end = Instant::now() + timeout;
        while !self.screen().contains(until) {
            assert!(Instant::now() < end, "waited {timeout:?} for {until:?}:\n{}", self.screen());
            let _ = self.keyboard.write_all(b"\x03");
            for _ in 0..25 {
                if self.screen().contains(until) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Presses Ctrl-C until the program ends, as people do: some ask for a second one, and soon. One that comes while
    /// the program is leaving may be what ends it.
    #[track_caller]
    pub fn quit(&mut self, timeout: Duration) -> ExitStatus {
        let end = Instant::now() + timeout;
        for pause in [Duration::from_millis(400), Duration::from_secs(5)].iter().cycle() {
            // A terminal that nobody has any more takes no keys.
            let _ = self.keyboard.write_all(b"\x03");
            let next = Instant::now() + *pause;
            while Instant::now() < next {
                if let Some(status) = self.child.try_wait().expect("our child") {
                    return status;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < end, "it did not end within {timeout:?}:\n{}", self.screen());
        }
        unreachable!("the pauses go on for ever")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        processes::end_all(&self.root);
        let _ = self.child.wait();
    }
}

/// Shows what the program prints until nobody has the terminal any more, and answers what it asks the terminal.
fn show(mut display: File, screen: &Mutex<vt100::Parser>) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = display.read(&mut buffer) {
        let bytes = &buffer[..count];
        let (row, column) = {
            let mut parser = screen.lock().expect("no thread panicked with it");
            parser.process(bytes);
            parser.screen().cursor_position()
        };
        for answer in answers(bytes, row + 1, column + 1) {
            let _ = display.write_all(answer.as_bytes());
        }
    }
}

/// Programs ask where the cursor is and what kind of terminal this is, and some wait for it.
fn answers(bytes: &[u8], row: u16, column: u16) -> Vec<String> {
    let asked = |query: &[u8]| bytes.windows(query.len()).any(|window| window == query);
    let mut answers = Vec::new();
    if asked(b"\x1b[6n") {
        answers.push(format!("\x1b[{row};{column}R"));
    }
    if asked(b"\x1b]11;?") {
        answers.push("\x1b]11;rgb:0000/0000/0000\x1b\\".to_owned());
    }
    if asked(b"\x1b[c") || asked(b"\x1b[0c") {
        answers.push("\x1b[?62;22c".to_owned());
    }
    answers
}
