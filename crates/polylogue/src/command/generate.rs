//! `polylogue generate`: completions and man pages, made of the arguments themselves. Packages are made with it, and
//! whoever has only the binary can have them too.

use std::{fs, io, path::Path, process::ExitCode};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::{
    args::{Args, Generate},
    failure::Failure,
};

/// The shells that there are completions for.
const SHELLS: [Shell; 4] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell];

pub(crate) fn run(args: &Generate) -> Result<ExitCode, Failure> {
    let (Generate::Completions { dir } | Generate::Man { dir }) = args;
    let written = fs::create_dir_all(dir).and_then(|()| match args {
        Generate::Completions { .. } => completions(dir),
        Generate::Man { .. } => clap_mangen::generate_to(shown(), dir),
    });
    written.map_err(|error| Failure::internal(format!("{} cannot be written: {error}", dir.display())))?;
    Ok(ExitCode::SUCCESS)
}

fn completions(dir: &Path) -> io::Result<()> {
    let mut command = shown();
    SHELLS.into_iter().try_for_each(|shell| clap_complete::generate_to(shell, &mut command, "polylogue", dir).map(drop))
}

/// The commands as `--help` shows them. Completions would offer the hidden ones too.
fn shown() -> Command {
    let all = Args::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let command = Command::new("polylogue").args(all.get_arguments().cloned()).subcommands(shown);
    command.version(env!("CARGO_PKG_VERSION")).about(all.get_about().cloned().unwrap_or_default())
}
