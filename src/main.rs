//! Hands the arguments over and returns the exit code.

fn main() -> std::process::ExitCode {
    agentworkforce::run(&std::env::args_os().collect::<Vec<_>>()).into()
}
