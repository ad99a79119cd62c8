//! A scene's transcript as Markdown, to be read rather than parsed.

use std::fmt::Write;

use super::{Entry, SceneText};

impl SceneText {
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.characters.join(", "));
        for (name, value) in [("Goal", &self.goal), ("Setting", &self.setting)] {
            if let Some(value) = value {
                let _ = write!(text, "\n**{name}:** {value}\n");
            }
        }
        for entry in &self.entries {
            let _ = write!(text, "\n{}\n", block(entry));
        }
        if let Some(end) = &self.end {
            let _ = write!(text, "\n---\n\n{end}\n");
        }
        text
    }
}

fn block(entry: &Entry) -> String {
    match entry {
        Entry::Said { speaker, action, is_cut } => {
            let mut how: Vec<String> = action.tone.iter().map(ToString::to_string).collect();
            how.extend(action.nonverbal.iter().map(|act| format!("*{act}*")));
            let how = if how.is_empty() { String::new() } else { format!(" ({})", how.join(", ")) };
            let to = action.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
            let dash = if *is_cut { "—" } else { "" };
            match action.kind.is_verbal() {
                true => format!("**{speaker}**{to}{how}: {}{dash}", action.text),
                false => format!("**{speaker}**{to}{how}"),
            }
        }
        Entry::Event(text) => format!("> *{text}*"),
        Entry::System(text) => format!("> [{text}]"),
    }
}
