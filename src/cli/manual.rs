//! The manual: one page with every command, its arguments and examples, and the exit codes. Typesetting is clap_mangen's.

use super::help::GROUPS;
use clap::{Arg, Command};
use clap_mangen::Man;
use std::io::{self, Write};

const AFTER: &str = r"
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
A run or a check failed, or lint, install or doctor found problems.
.TP
.B 2
Usage error, unknown persona or tier, invalid persona or config, missing input: nothing was started.
.TP
.B 3
Conflict: the work is complete and kept in the session; nothing was overwritten.
.TP
.B 4
Refused by policy: \-\-strict, \-\-sandbox, \-\-locked.
.TP
.B 124
A time limit, or limits.diskMb, was reached.
.TP
.B 125
agentworkforce itself failed.
.TP
.B 126, 127
The harness cannot be executed, or was not found.
.TP
.B 128+n
Ended by signal n.
.SH FILES
.TP
.B .agentworkforce/workforce/
Personas and roles of a project.
.TP
.B ~/.agentworkforce/workforce/
Your own personas and roles, config.json and sessions; AGENT_WORKFORCE_HOME moves it.
.TP
.B .agentignore, .agentreadonly
Files that agents cannot see and files that they cannot change, in gitignore syntax.
";

/// What every section of clap_mangen starts with, and needs only once.
const PREAMBLE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

pub fn page(mut command: Command) -> io::Result<String> {
    command.build();
    let mut page = Vec::new();
    // An empty date would make the version the date.
    let whole = Man::new(command.clone()).date(" ");
    whole.render_title(&mut page)?;
    whole.render_name_section(&mut page)?;
    whole.render_synopsis_section(&mut page)?;
    whole.render_description_section(&mut page)?;
    whole.render_options_section(&mut page)?;
    writeln!(page, ".SH COMMANDS")?;
    for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
        if let Some(command) = command.find_subcommand(name) {
            write_command(&mut page, command.clone())?;
        }
    }
    let page = String::from_utf8_lossy(&page).replace(PREAMBLE, "");
    Ok(format!("{PREAMBLE}{page}{}", AFTER.trim_start()))
}

/// A section for the command, or one for each of its subcommands.
fn write_command(page: &mut Vec<u8>, mut command: Command) -> io::Result<()> {
    if command.is_hide_set() {
        return Ok(());
    }
    if command.has_subcommands() {
        return command.get_subcommands().try_for_each(|command| write_command(page, command.clone()));
    }
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(page, ".SS \"{}\"", usage.replace('-', "\\-"))?;
    // The options of every command are described once.
    let is_shared = |arg: &Arg| ["help", "version", "json"].contains(&arg.get_id().as_str());
    let command = command.mut_args(|arg| if is_shared(&arg) { arg.hide(true) } else { arg });
    let has_examples = command.get_after_help().is_some();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(page, "{}.", about.replace('-', "\\-"))?;
    let manual = Man::new(command);
    let mut section = Vec::new();
    manual.render_options_section(&mut section)?;
    if has_examples {
        manual.render_extra_section(&mut section)?;
        writeln!(section, ".fi")?;
    }
    // Below a command there are no sections of their own; examples keep their lines.
    let section = String::from_utf8_lossy(&section).replace(".SH OPTIONS\n", "");
    page.write_all(section.replace(".SH EXTRA\n", ".PP\n.nf\n").as_bytes())
}
