//! Whom a text is for, as people write it: `@gpt …`, `@all …`, `@router collaborate gpt claude: GOAL`.

/// A text and whom it begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed<'a> {
    pub mention: Option<Mention<'a>>,
    /// What is left to be said.
    pub text: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mention<'a> {
    Router,
    All,
    /// Somebody by this name, whether or not there is one.
    Somebody(&'a str),
    /// The router is to let these work together; nobody is named where it may choose.
    Collaborate(Vec<&'a str>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error(
        "a collaboration is begun with `@router collaborate gpt claude: GOAL`: the colon before the goal is missing"
    )]
    NoColon,
}

/// Reads the mention at the beginning of a text, if there is one.
pub fn addressed(text: &str) -> Result<Addressed<'_>, BadAddress> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('@') else { return Ok(Addressed { mention: None, text }) };
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | ':')).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
    Ok(match name {
        "" => Addressed { mention: None, text },
        name if name.eq_ignore_ascii_case("all") => Addressed { mention: Some(Mention::All), text: rest },
        name if name.eq_ignore_ascii_case("router") => to_router(rest)?,
        name => Addressed { mention: Some(Mention::Somebody(name)), text: rest },
    })
}

fn to_router(text: &str) -> Result<Addressed<'_>, BadAddress> {
    const COMMAND: &str = "collaborate";
    let rest = text.get(..COMMAND.len()).filter(|word| word.eq_ignore_ascii_case(COMMAND));
    let rest = rest.map(|word| &text[word.len()..]).filter(|rest| !rest.starts_with(char::is_alphanumeric));
    let Some(rest) = rest else { return Ok(Addressed { mention: Some(Mention::Router), text }) };
    let (names, goal) = rest.split_once(':').ok_or(BadAddress::NoColon)?;
    let names = names.split(|c: char| c.is_whitespace() || matches!(c, ',' | '&' | '+' | '↔'));
    let names = names.map(|name| name.trim_start_matches('@'));
    let names = names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("and")).collect();
    Ok(Addressed { mention: Some(Mention::Collaborate(names)), text: goal.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_says_whom_a_text_is_for() {
        let cases: &[(&str, Option<Mention<'_>>, &str)] = &[
            ("Hello.", None, "Hello."),
            ("  Hello, @gpt.  ", None, "Hello, @gpt."),
            ("@gpt Hello.", Some(Mention::Somebody("gpt")), "Hello."),
            ("@Claude: what now?", Some(Mention::Somebody("Claude")), "what now?"),
            ("@gpt-4o,\nlook", Some(Mention::Somebody("gpt-4o")), "look"),
            ("@gpt", Some(Mention::Somebody("gpt")), ""),
            ("@ home", None, "@ home"),
            ("@ALL: hi", Some(Mention::All), "hi"),
            ("@router hi", Some(Mention::Router), "hi"),
            ("@router collaborators are here", Some(Mention::Router), "collaborators are here"),
            ("@router collab", Some(Mention::Router), "collab"),
            (
                "@router collaborate gpt claude: Write: a tale.",
                Some(Mention::Collaborate(vec!["gpt", "claude"])),
                "Write: a tale.",
            ),
            ("@Router Collaborate @gpt, and @claude:go", Some(Mention::Collaborate(vec!["gpt", "claude"])), "go"),
            ("@router collaborate: go", Some(Mention::Collaborate(vec![])), "go"),
            ("@router collaborate gpt claude:", Some(Mention::Collaborate(vec!["gpt", "claude"])), ""),
        ];
        for (text, mention, rest) in cases {
            let expected = Addressed { mention: mention.clone(), text: rest };
            assert_eq!(addressed(text), Ok(expected), "{text}");
        }
        assert_eq!(addressed("@router collaborate gpt claude go"), Err(BadAddress::NoColon));
    }
}
