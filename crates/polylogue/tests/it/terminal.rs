//! What a person sees: the binary on a terminal of a given width.

mod calm;
mod hostile;
mod player;

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use unicode_width::UnicodeWidthChar;

use crate::folder::Folder;

/// What a command wrote to a terminal, and how it ended.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: i32,
    columns: u16,
    /// Everything that arrived, with the codes that steer the terminal.
    pub(crate) raw: String,
}

impl Seen {
    /// Runs the program in a folder, on a terminal.
    pub(crate) fn of(folder: &Folder, columns: u16, args: &[&str]) -> Seen {
        Seen::run(folder.command(args), columns)
    }

    /// Runs a command whose input and output are a terminal.
    pub(crate) fn run(command: Command, columns: u16) -> Seen {
        Seen::until(command, columns, |_| false)
    }

    /// The same, with a Ctrl-C as soon as this holds of what was written.
    pub(crate) fn until(command: Command, columns: u16, is_to_stop: impl Fn(&str) -> bool) -> Seen {
        let mut is_stopped = false;
        Seen::with(command, columns, |seen, child, _| {
            if !is_stopped && is_to_stop(seen) {
                is_stopped = true;
                let pid = child.id().to_string();
                assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
            }
        })
    }

    /// The same with somebody at the keys: each types as soon as the words before it have been written after the last.
    pub(crate) fn typing(command: Command, columns: u16, steps: &[(&str, &str)]) -> Seen {
        let (mut steps, mut from) = (steps.iter(), 0);
        let mut next = steps.next();
        Seen::with(command, columns, |seen, _, keys| {
            while let Some((wait_for, typed)) = next
                && let Some(at) = seen.get(from..).and_then(|seen| seen.find(wait_for))
            {
                from += at + wait_for.len();
                keys.write_all(typed.as_bytes()).unwrap();
                next = steps.next();
            }
        })
    }

    /// Runs a command, and shows after every piece of its output all of it that has come.
    fn with(mut command: Command, columns: u16, mut act: impl FnMut(&str, &Child, &mut File)) -> Seen {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let end = || -> Stdio { OpenOptions::new().read(true).write(true).open(Path::new(&name)).unwrap().into() };
        command.env_remove("NO_COLOR").env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end());
        let mut child = command.spawn().unwrap();
        // Its ends of the terminal are closed with it.
        drop(command);
        let (mut reader, mut bytes, mut part) = (File::from(terminal), Vec::new(), [0; 4096]);
        let mut keys = reader.try_clone().unwrap();
        // After its last writer has left, a terminal has an error and not an end.
        while let Ok(read @ 1..) = reader.read(&mut part) {
            bytes.extend_from_slice(&part[..read]);
            act(&String::from_utf8_lossy(&bytes), &child, &mut keys);
        }
        let status = child.wait().unwrap().code().unwrap_or(-1);
        Seen { status, columns, raw: String::from_utf8(bytes).unwrap() }
    }

    /// What is left on the terminal, without colours; what did not fit into one of its lines is one line again.
    pub(crate) fn text(&self) -> String {
        let mut screen = Screen { columns: usize::from(self.columns), rows: vec![Row::default()], row: 0, column: 0 };
        let mut chars = self.raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '\r' => screen.column = 0,
                '\n' => screen.down(),
                '\u{1b}' => {
                    let (count, what) = code(&mut chars);
                    match what {
                        'A' => screen.row = screen.row.saturating_sub(count.max(1)),
                        'B' => (0..count.max(1)).for_each(|_| screen.down()),
                        'K' => screen.rows[screen.row] = Row::default(),
                        _ => {}
                    }
                }
                _ => screen.put(c),
            }
        }
        screen.text()
    }

    /// Whether it holds only what this program itself sends: colours, and the moves of a status line.
    pub(crate) fn is_calm(&self) -> bool {
        let mut chars = self.raw.chars();
        while let Some(c) = chars.next() {
            let is_known = match c {
                '\u{1b}' => matches!(code(&mut chars).1, 'm' | 'A' | 'B' | 'K'),
                '\r' | '\n' | '\t' => true,
                _ => is_harmless(c),
            };
            if !is_known {
                return false;
            }
        }
        true
    }
}

/// A terminal as far as this program steers it.
struct Screen {
    columns: usize,
    rows: Vec<Row>,
    row: usize,
    column: usize,
}

#[derive(Default)]
struct Row {
    /// What is shown in each column; a wide letter has nothing after it.
    cells: Vec<String>,
    /// Whether it goes on in the next row.
    goes_on: bool,
}

impl Screen {
    fn put(&mut self, c: char) {
        let wide = c.width().unwrap_or_default();
        if self.column + wide > self.columns {
            self.rows[self.row].goes_on = true;
            self.down();
            self.column = 0;
        }
        let cells = &mut self.rows[self.row].cells;
        if wide == 0 {
            return if let Some(cell) = cells.last_mut() {
                cell.push(c)
            };
        }
        cells.resize(cells.len().max(self.column + wide), " ".to_owned());
        cells[self.column] = c.to_string();
        cells[self.column + 1..self.column + wide].fill(String::new());
        self.column += wide;
    }

    fn down(&mut self) {
        self.row += 1;
        self.rows.resize_with(self.rows.len().max(self.row + 1), Row::default);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            text += &row.cells.concat();
            if !row.goes_on {
                text.truncate(text.trim_end_matches(' ').len());
                text.push('\n');
            }
        }
        text
    }
}

/// Reads an escape code up to the letter that says what it does.
fn code(chars: &mut std::str::Chars<'_>) -> (usize, char) {
    if chars.next() != Some('[') {
        return (0, '?');
    }
    let mut number = String::new();
    for c in chars {
        match c {
            '0'..='9' | ';' => number.push(c),
            _ => return (number.parse().unwrap_or_default(), c),
        }
    }
    (0, '?')
}

/// Whether a character only shows itself.
pub(crate) fn is_harmless(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
