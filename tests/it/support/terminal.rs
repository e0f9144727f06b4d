//! A real terminal: a shell in a tmux server of our own.

use crate::support::mount::{BINARY, World};
use crate::support::require;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a command has to start with so that no terminal of ours controls it: a run at a terminal asks there.
pub(crate) fn without_terminal() -> Vec<&'static str> {
    let is_there = OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok();
    if is_there { vec!["setsid", "--wait"] } else { Vec::new() }
}

/// A tmux server with one shell in it; ended with the value.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    #[track_caller]
    pub(crate) fn open(world: &World) -> Terminal {
        Terminal::open_with(world, 150, 50)
    }

    #[track_caller]
    pub(crate) fn open_with(world: &World, columns: u16, rows: u16) -> Terminal {
        require::program("tmux");
        let socket = world.path("tmux.sock").to_str().unwrap().to_owned();
        let terminal = Terminal { socket };
        let mut command = world.program("tmux");
        command.args([
            "-S",
            &terminal.socket,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
        command
            .args(["bash", "--norc", "-i"])
            .env("PS1", "")
            .env("HISTFILE", "/dev/null")
            .env_remove("TMUX")
            .env("AW", BINARY)
            .env("MOUNT", world.mount_program());
        let started = command.output().unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        terminal.keys(&["PS1='shell> '", "Enter"]);
        terminal
    }

    /// The lines are wrapped anew, as a terminal's are.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let status = self.tmux().args(["resize-window", "-x", &columns, "-y", &rows]).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        let status = self.tmux().arg("send-keys").args(keys).status().unwrap();
        assert!(status.success());
    }

    pub(crate) fn line(&self, text: &str) {
        self.keys(&[text, "Enter"]);
    }

    pub(crate) fn screen(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p", "-S", "-200"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the screen now, without what has scrolled away.
    pub(crate) fn visible(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    pub(crate) fn shows_visibly(&self, holds: impl Fn(&str) -> bool) {
        assert!(self.waits(|_| holds(&self.visible())), "{}", self.visible());
    }

    /// Writes everything that the terminal is sent from now on to a file.
    pub(crate) fn record(&self, file: &Path) {
        let command = format!("cat > '{}'", file.display());
        let status = self.tmux().args(["pipe-pane", "-o", &command]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until the screen shows a text.
    pub(crate) fn shows(&self, text: &str) {
        let seen = self.waits(|screen| screen.contains(text));
        assert!(seen, "`{text}` never appeared:\n{}", self.screen());
    }

    /// Waits until this is the last thing on the screen.
    pub(crate) fn asks(&self, question: &str) {
        let asked = self.waits(|screen| screen.trim_end().ends_with(question));
        assert!(asked, "`{question}` was not asked:\n{}", self.screen());
    }

    /// Waits until the shell reads the next line: what is typed before belongs to the run, and is forgotten with it.
    pub(crate) fn shell_is_back(&self) {
        let is_back = self.waits(|screen| screen.trim_end().ends_with("shell>"));
        assert!(is_back, "the shell never came back:\n{}", self.screen());
    }

    /// Empties the screen. What is waited for afterwards cannot be what was there before.
    pub(crate) fn clear(&self) {
        self.line("clear");
        let is_clear = self.waits(|screen| screen.trim() == "shell>");
        assert!(is_clear, "the screen was not cleared:\n{}", self.screen());
    }

    fn waits(&self, for_what: impl Fn(&str) -> bool) -> bool {
        (0..750).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            for_what(&self.screen())
        })
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).env_remove("TMUX");
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}
