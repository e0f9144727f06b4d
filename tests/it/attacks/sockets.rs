//! Attacks through services outside: a socket on a read-only mount still takes connections, and a tmux server runs what it is
//! told.

use crate::support::mount::{World, for_each_identity, read};
use crate::support::require;
use crate::support::sessions::Did;
use agentworkforce::mount::process::inside::scope;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Connects to a socket and prints the error number; a name that begins with `@` has no path.
const CALLER: &str = r#"
use Socket;
for my $name (@ARGV) {
  (my $address = $name) =~ s/^@/\0/;
  socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or die;
  print connect($socket, pack_sockaddr_un($address)) ? 0 : $! + 0, "\n";
}
"#;

/// A tmux server outside, ended with the value.
struct Server {
    socket: PathBuf,
}

impl Server {
    fn start(world: &World, socket: &Path) -> Server {
        require::program("tmux");
        let mut command = world.program("tmux");
        command.arg("-S").arg(socket).args(["-f", "/dev/null", "new-session", "-d", "sleep", "60"]);
        assert!(command.env_remove("TMUX").status().unwrap().success());
        Server { socket: socket.to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

fn world_with_caller(world: &World) {
    require::program("perl");
    world.files(&[("caller.pl", CALLER)]);
}

#[test]
fn a_service_outside_cannot_be_reached_at_strict() {
    for_each_identity(|world| {
        world_with_caller(&world);
        let dir = world.path("sockets");
        std::fs::create_dir(&dir).unwrap();
        world.give();
        // One beside the project, whose directory cannot be covered, and one in a directory for sockets.
        let (beside, within) = (world.path("beside.sock"), dir.join("default"));
        let _servers = [Server::start(&world, &beside), Server::start(&world, &within)];
        let escaped = world.home().join("escaped");
        let told = |level: &str| {
            let tell = |socket: &Path| {
                format!("tmux -S {} run-shell 'touch {}' || true\n", socket.display(), escaped.display())
            };
            let call = format!("perl caller.pl {} {}", beside.display(), within.display());
            let script = tell(&beside) + &tell(&within) + &call;
            let did = world.mounted(&["--sandbox", level], &script).ends(0);
            let ran =
                crate::support::mount::soon(|| level == "strict" || escaped.exists()) && escaped.exists();
            let _ = std::fs::remove_file(&escaped);
            (ran, did.stdout)
        };
        // What `project` does not promise.
        assert_eq!(
            told("project"),
            (true, "0\n0\n".to_owned()),
            "the attack does not work: this test shows nothing"
        );
        // ECONNREFUSED, and ENOENT in the covered directory.
        assert_eq!(told("strict"), (false, "111\n2\n".to_owned()));
    });
}

#[test]
fn a_service_that_reads_a_named_pipe_is_not_told_anything_at_strict() {
    for_each_identity(|world| {
        world.files(&[("a", "old")]);
        let escaped = world.home().join("escaped");
        world.outside("mkdir -p ~/.config/service ~/pipes; mkfifo ~/.config/service/control ~/pipes/in; touch ~/.config/service/x");
        world.outside(&format!("mkfifo {}", world.path("beside").display()));
        world.give();
        let pipes = [
            world.home().join(".config/service/control"),
            world.home().join("pipes/in"),
            world.path("beside"),
        ];
        for level in ["project", "strict"] {
            for pipe in &pipes {
                // A service that runs what it reads, once.
                let mut service = world.program("sh").arg(pipe).stdout(Stdio::null()).spawn().unwrap();
                let tell = format!("echo 'touch {}' > {} || true", escaped.display(), pipe.display());
                world.mounted(&["--sandbox", level], &tell).ends(0);
                let ran =
                    crate::support::mount::soon(|| level == "strict" || escaped.exists()) && escaped.exists();
                let _ = service.kill();
                let _ = service.wait();
                let _ = std::fs::remove_file(&escaped);
                // `project` does not promise it, and shows that the attack works.
                assert_eq!(ran, level == "project", "{level} {}", pipe.display());
            }
        }
    });
}

#[test]
fn a_named_pipe_that_a_service_uses_is_covered_wherever_it_is() {
    for_each_identity(|world| {
        world.files(&[("a", "old")]);
        let deep = world.home().join("1/2/3/4/5/6");
        let (escaped, ready) = (world.home().join("escaped"), world.home().join("ready"));
        world.outside(&format!("mkdir -p {0}; mkfifo {0}/control; touch {0}/x", deep.display()));
        world.give();
        let open = format!(
            "cd {}; exec 3<>control; touch {}; read line <&3; $line",
            deep.display(),
            ready.display()
        );
        let waits = format!("cd {}; touch {}; exec sh control", deep.display(), ready.display());
        for service in [open, waits] {
            for level in ["project", "strict"] {
                let mut service =
                    world.program("sh").args(["-c", &service]).stdout(Stdio::null()).spawn().unwrap();
                assert!(crate::support::mount::soon(|| ready.exists()));
                std::thread::sleep(std::time::Duration::from_millis(50));
                let tell = format!("echo 'touch {}' > {}/control || true", escaped.display(), deep.display());
                world.mounted(&["--sandbox", level], &tell).ends(0);
                let ran =
                    crate::support::mount::soon(|| level == "strict" || escaped.exists()) && escaped.exists();
                let _ = service.kill();
                let _ = service.wait();
                let _ = (std::fs::remove_file(&escaped), std::fs::remove_file(&ready));
                assert_eq!(ran, level == "project", "{level}");
            }
        }
    });
}

/// A listener at a relative name in a directory, ended with the value.
struct Relative(std::process::Child);

impl Relative {
    fn start(dir: &Path, name: &str) -> Relative {
        let script = "use Socket; chdir $ARGV[0]; socket(my $s, PF_UNIX, SOCK_STREAM, 0); \
            bind($s, pack_sockaddr_un($ARGV[1])) or die; listen($s, 9); sleep 60";
        let child = Command::new("perl").args(["-e", script]).arg(dir).arg(name).spawn().unwrap();
        assert!(crate::support::mount::soon(|| dir.join(name).exists()));
        Relative(child)
    }
}

impl Drop for Relative {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_socket_that_has_another_name_than_it_was_bound_to_cannot_be_reached_at_strict() {
    for_each_identity(|world| {
        world_with_caller(&world);
        // As ssh does it for connections that are shared; the directory has other files, too.
        let dir = world.home().join(".ssh");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("known_hosts"), "").unwrap();
        let (linked, renamed) = (dir.join("linked"), dir.join("renamed"));
        let _listeners = [&linked, &renamed].map(|path| {
            let first = path.with_extension("first");
            let listener = UnixListener::bind(&first).unwrap();
            if path == &linked {
                std::fs::hard_link(&first, path).unwrap();
                std::fs::remove_file(&first).unwrap();
            } else {
                std::fs::rename(&first, path).unwrap();
            }
            listener
        });
        let _relative = Relative::start(&dir, "relative");
        world.give();
        let call = |level: &str| {
            let script =
                "perl caller.pl ~/.ssh/linked ~/.ssh/renamed ~/.ssh/relative; cat ~/.ssh/known_hosts";
            world.mounted(&["--sandbox", level], script).ends(0).stdout
        };
        assert_eq!(call("project"), "0\n0\n0\n", "the attack does not work: this test shows nothing");
        assert_eq!(call("strict"), "111\n111\n111\n");
    });
}

#[test]
fn the_directory_of_the_users_session_is_the_runs_own_at_strict() {
    for_each_identity(|world| {
        world_with_caller(&world);
        let dir = world.path("runtime");
        std::fs::create_dir_all(dir.join("systemd")).unwrap();
        std::fs::write(dir.join("secret"), "").unwrap();
        let _listener = UnixListener::bind(dir.join("systemd/private")).unwrap();
        let allowed = dir.join("allowed");
        let _allowed = UnixListener::bind(&allowed).unwrap();
        world.give();
        world.aw(["config", "set", "mount.sockets", allowed.to_str().unwrap()]).ends(0);
        let script = "d=$XDG_RUNTIME_DIR; ls $d; perl caller.pl $d/systemd/private $d/allowed; \
                      touch $d/mine && stat -c %a $d";
        let mut command = world.mounted_command(&["--sandbox", "strict"], script);
        let did = Did::of(&command.env("XDG_RUNTIME_DIR", &dir).output().unwrap()).ends(0);
        assert_eq!(did.stdout, "allowed\n2\n0\n700\n", "{did:#?}");
        assert!(!dir.join("mine").exists());
    });
}

#[test]
fn a_service_that_comes_later_into_a_covered_directory_is_not_reached() {
    for_each_identity(|world| {
        world_with_caller(&world);
        let dir = world.path("sockets");
        std::fs::create_dir(&dir).unwrap();
        world.give();
        let _first = Server::start(&world, &dir.join("first"));
        let later = dir.join("later");
        let script = format!(
            "echo ready; while ! test -e {go}; do sleep 0.05; done; perl caller.pl {later}",
            go = world.path("go").display(),
            later = later.display()
        );
        let mut command = world.mounted_command(&["--sandbox", "strict"], &script);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let _later = Server::start(&world, &later);
        std::fs::write(world.path("go"), "").unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(line, "2\n");
    });
}

#[test]
fn a_service_without_a_path_cannot_be_reached_at_strict() {
    for_each_identity(|world| {
        world_with_caller(&world);
        let name = format!("aw-test-{}", world.root().file_name().unwrap().display());
        let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let call = |level: &str| {
            world.mounted(&["--sandbox", level], &format!("perl caller.pl @{name}")).ends(0).stdout
        };
        assert_eq!(call("project"), "0\n", "the attack does not work: this test shows nothing");
        let can = scope::is_available();
        assert_eq!(call("strict"), if can { "1\n" } else { "0\n" });
        // The matrix says which of the two it is.
        let persona = serde_json::json!({"id": "p", "intent": "x", "description": "x", "harness": "claude",
            "systemPrompt": "x", "mount": {"sandbox": "strict"}});
        world.persona(&persona);
        let plan = world.aw(["agent", "p", "-p", "x", "--dry-run", "--json"]).json();
        let rows = plan["enforcement"].as_array().unwrap();
        let row = rows.iter().find(|row| row["field"] == "mount.sandbox.sockets").unwrap();
        assert_eq!(row["level"], Value::from(if can { "enforced" } else { "advisory" }), "{row}");
    });
}

#[test]
fn the_agents_own_sockets_work_at_strict() {
    for_each_identity(|world| {
        require::program("perl");
        world.files(&[(
            "own.pl",
            "use Socket;
            for my $name (@ARGV) {
              (my $address = $name) =~ s/^@/\\0/;
              socket(my $server, PF_UNIX, SOCK_STREAM, 0) or die;
              bind($server, pack_sockaddr_un($address)) or die \"bind $name: $!\"; listen($server, 1) or die;
              socket(my $client, PF_UNIX, SOCK_STREAM, 0) or die;
              connect($client, pack_sockaddr_un($address)) or die \"connect $name: $!\";
              print \"ok\\n\";
            }",
        )]);
        let script = "perl own.pl ./own.sock @own-$$; rm own.sock";
        let did = world.mounted(&["--sandbox", "strict"], script).ends(0);
        assert_eq!(did.stdout, "ok\nok\n", "{did:#?}");
    });
}

#[test]
fn the_agent_for_ssh_is_reached_only_if_the_config_says_so() {
    for_each_identity(|world| {
        world_with_caller(&world);
        let dir = world.path("ssh-agent");
        std::fs::create_dir(&dir).unwrap();
        world.give();
        let socket = dir.join("agent.1");
        let _server = Server::start(&world, &socket);
        let call = || {
            let script = format!("perl caller.pl {} > called", socket.display());
            let mut command = world.mounted_command(&["--sandbox", "strict"], &script);
            let _ = Did::of(&command.env("SSH_AUTH_SOCK", &socket).output().unwrap()).ends(0);
            read(world.project().join("called"))
        };
        assert_eq!(call(), "2\n");
        world.aw(["config", "set", "mount.sockets", "ssh-agent"]).ends(0);
        assert_eq!(call(), "0\n");
        world.aw(["config", "set", "mount.sockets", socket.to_str().unwrap()]).ends(0);
        assert_eq!(call(), "0\n");
        world.aw(["config", "set", "mount.sockets", "relative"]).ends(0);
        let did = world.mounted(&["--sandbox", "strict"], "true");
        did.says("is neither an absolute path nor");
    });
}
