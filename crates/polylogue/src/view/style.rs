//! How things are set: in colour and wrapped for a person, plain for a file or another program.

use std::io::{IsTerminal, stderr, stdout};

use polylogue_core::{
    Conversation,
    id::SessionId,
    line::{Line, LineForm, Speaker},
};

use crate::printable::{Ink, filled, painted, printable, width};

/// The longest lines that are comfortable to read.
const MAX_WIDTH: usize = 96;

/// How much of an id is enough to find a session.
const SHORT_ID: usize = 8;

/// How things are set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    is_rich: bool,
    width: usize,
}

impl Style {
    pub(crate) fn of_stdout() -> Style {
        let is_rich = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Style { is_rich, width: textwrap::termwidth().min(MAX_WIDTH) }
    }

    /// For what is told beside the output.
    pub(crate) fn of_stderr() -> Style {
        let is_rich = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Style { is_rich, width: textwrap::termwidth().min(MAX_WIDTH) }
    }

    pub(crate) fn width(self) -> usize {
        self.width
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.in_ink(text, Ink::Dim)
    }

    pub(crate) fn is_rich(self) -> bool {
        self.is_rich
    }

    pub(crate) fn italic(self, text: &str) -> String {
        self.in_ink(text, Ink::Italic)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.in_ink(text, Ink::Bold)
    }

    /// A speaker's name in the speaker's colour.
    pub(crate) fn name(self, speaker: &Speaker, shown: &str, conversation: &Conversation) -> String {
        // Cyan, yellow, magenta, green, blue, red.
        const HUES: [u8; 6] = [6, 3, 5, 2, 4, 1];
        let ink = match speaker {
            Speaker::Agent(agent) => {
                let agents = conversation.stage().cast().agents();
                let place = agents.iter().position(|other| other.name == *agent).unwrap_or_default();
                Ink::Hue(HUES[place % HUES.len()])
            }
            Speaker::Person(_) => Ink::Bold,
            Speaker::Router | Speaker::Moderator => Ink::Dim,
        };
        self.in_ink(shown, ink)
    }

    /// A line of the conversation, with an empty line after it.
    pub(crate) fn line(self, line: &Line, conversation: &Conversation) -> String {
        match line.kind.form() {
            LineForm::Words | LineForm::Act => {
                let to = line.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
                let shown = format!("{}{to}:", line.speaker);
                let name = self.name(&line.speaker, &shown, conversation);
                if !self.is_rich {
                    return format!("{name} {}\n", line.text);
                }
                format!("{name}\n{}\n", self.wrap(&line.text, "  "))
            }
            LineForm::Direction | LineForm::Aside(_) => {
                let text = match &line.to {
                    Some(to) => format!("→ {to}: {}", line.text),
                    None => line.text.to_string(),
                };
                if !self.is_rich {
                    return format!("[{text}]\n");
                }
                format!("{}\n", self.dim(&self.wrap(&text, "  ")))
            }
        }
    }

    /// A remark of the program itself.
    pub(crate) fn remark(self, text: &str) -> String {
        self.dim(&self.in_words(text, ""))
    }

    /// What the program itself has to say: in full words for a person, in one line for a program. Paths and names
    /// stay whole, so that they can be copied. Lines after the first begin with this.
    pub(crate) fn in_words(self, text: &str, indent: &str) -> String {
        if !self.is_rich {
            return text.to_owned();
        }
        let options = textwrap::Options::new(self.width)
            .subsequent_indent(indent)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        textwrap::fill(&printable(text), options)
    }

    /// A name in so many columns and what there is to say of it: beside it, or below where there is no room.
    pub(crate) fn row(self, mark: &str, name: &str, columns: usize, text: &str) -> String {
        let row = format!("{mark}{} ", self.bold(&filled(name, columns)));
        let room = self.width.saturating_sub(width(mark) + width(name).max(columns) + 1);
        if !self.is_rich || width(&printable(text)) <= room {
            return format!("{row}{}", self.dim(text));
        }
        // Below the name, and not as if it were the next one.
        let indent = " ".repeat(width(mark) + 2);
        format!("{mark}{}\n{}", self.bold(name), self.dim(&self.wrap(text, &indent)))
    }

    /// A session as a person calls it, or whole for a program.
    pub(crate) fn session(self, id: SessionId) -> String {
        let mut id = id.to_string();
        if self.is_rich {
            id.truncate(SHORT_ID);
        }
        id
    }

    pub(crate) fn wrap(self, text: &str, indent: &str) -> String {
        let options = textwrap::Options::new(self.width).initial_indent(indent).subsequent_indent(indent);
        textwrap::fill(&printable(text), options)
    }

    fn in_ink(self, text: &str, ink: Ink) -> String {
        if self.is_rich { painted(text, ink) } else { text.to_owned() }
    }
}
