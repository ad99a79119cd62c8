//! Completions and man pages, as packages carry them.

use std::{collections::BTreeSet, fs, process::Command};

use crate::folder::Folder;

/// The commands that the help names.
fn commands(folder: &Folder) -> Vec<String> {
    let help = String::from_utf8(folder.output(&["--help"]).stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

#[test]
fn every_command_has_a_man_page_and_hidden_ones_have_none() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["generate", "man", "man"]).status, 0);
    let pages: BTreeSet<String> = fs::read_dir(folder.path("man"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    let commands = commands(&folder);
    assert!(commands.len() > 8, "{commands:?}");
    for command in &commands {
        assert!(pages.contains(&format!("polylogue-{command}.1")), "{command}: {pages:?}");
    }
    assert!(pages.contains("polylogue.1") && pages.contains("polylogue-sessions-fork.1"), "{pages:?}");
    assert!(!pages.iter().any(|page| page.contains("generate")), "{pages:?}");
    let page = fs::read_to_string(folder.path("man/polylogue-serve.1")).unwrap();
    assert!(page.contains(".SH NAME") && page.contains("\\-\\-listen"), "{page}");
}

#[test]
fn four_shells_have_completions_for_every_command() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["generate", "completions", "deep/within"]).status, 0);
    for file in ["polylogue.bash", "_polylogue", "polylogue.fish", "_polylogue.ps1"] {
        let script = fs::read_to_string(folder.path("deep/within").join(file)).unwrap();
        for command in commands(&folder) {
            assert!(script.contains(&command), "{file}: {command}");
        }
        assert!(!script.contains("generate"), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn bash_really_completes() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["generate", "completions", "."]).status, 0);
    let asked = "source ./polylogue.bash
        COMP_WORDS=(polylogue sessions re) COMP_CWORD=2
        _polylogue polylogue re sessions
        echo \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash").args(["--norc", "-c", asked]).current_dir(folder.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&bash.stdout).trim(), "replay resume", "{bash:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let folder = Folder::new();
    folder.write("taken", "a file");
    let run = folder.run(&["generate", "man", "taken"]);
    assert_eq!(run.status, 1);
    let message = run.lines[0]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("taken cannot be written"), "{message}");
}
