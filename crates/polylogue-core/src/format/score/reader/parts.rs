//! The parts of a score, each from its node. What cannot be read is noted and passed over.

use std::sync::Arc;

use serde_json::Value;

use super::{
    super::language::{Form, Of, Phase, Repeat, ReplyField, Role, Score, Seen, Sees, Setting, Times, Turn, Who, Yield},
    Content, Key, Node, Places, Problem, meant,
};

/// What is known while a score is read.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) problems: Vec<Problem>,
    pub(super) places: Places,
    phase: Option<Arc<str>>,
    repeats: usize,
    results: usize,
    roles: Vec<Arc<str>>,
}

const SCORE: [&str; 6] = ["score", "about", "roles", "settings", "phases", "result"];
const ROLE: [&str; 4] = ["seats", "default", "person", "persona"];
const TURN: [&str; 8] = ["who", "order", "sees", "blind", "reply", "line", "to", "prompt"];
const REPEAT: [&str; 3] = ["at_most", "until", "phases"];

/// Words that templates have a meaning for already.
const TAKEN: [&str; 24] = [
    "message",
    "me",
    "round",
    "last_round",
    "seen",
    "seats",
    "reply",
    "line",
    "candidates",
    "loop",
    "true",
    "false",
    "none",
    "not",
    "and",
    "or",
    "in",
    "is",
    "if",
    "else",
    "for",
    "set",
    "repeat",
    "all",
];

impl Reader {
    fn wrong(&mut self, line: u32, message: impl Into<String>) {
        let (line, phase) = ((line > 0).then_some(line), self.phase.clone());
        self.problems.push(Problem { line, phase, message: message.into() });
    }

    /// Notes where something stands, by what it is called.
    fn place(&mut self, called: String, line: u32) {
        self.places.insert(called, (line, self.phase.clone()));
    }

    fn map<'a>(&mut self, node: &'a Node, what: &str) -> &'a [(Key, Node)] {
        match &node.content {
            Content::Map(fields) => fields,
            _ => {
                self.wrong(node.line, format!("{what} must be a map of names and values, and is {}", node.kind()));
                &[]
            }
        }
    }

    /// The fields of a map, of which each is known and there once.
    fn fields<'a>(&mut self, node: &'a Node, what: &str, known: &[&str]) -> &'a [(Key, Node)] {
        let fields = self.map(node, what);
        for (at, (key, _)) in fields.iter().enumerate() {
            if !known.contains(&&*key.name) {
                let meant = meant(&key.name, known.iter().copied());
                let list = if meant.is_empty() { format!("; it has {}", known.join(", ")) } else { meant };
                self.wrong(key.line, format!("{what} has no `{}`{list}", key.name));
            }
            if fields[..at].iter().any(|(other, _)| other.name == key.name) {
                self.wrong(key.line, format!("`{}` is there twice", key.name));
            }
        }
        fields
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<Arc<str>> {
        let text = node.text();
        if text.is_none() {
            self.wrong(node.line, format!("{what} must be a text, and is {}", node.kind()));
        }
        text
    }

    fn yes(&mut self, node: &Node, what: &str) -> bool {
        match &node.content {
            Content::Bool(truth) => *truth,
            _ => {
                self.wrong(node.line, format!("{what} is true or false, and here {}", node.kind()));
                false
            }
        }
    }

    fn count(&mut self, node: &Node, what: &str) -> Option<u32> {
        let count = match &node.content {
            Content::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
            _ => None,
        };
        if count.is_none_or(|count| count == 0) {
            self.wrong(node.line, format!("{what} must be a whole number of at least 1"));
        }
        count.filter(|count| *count > 0)
    }

    /// A name that templates can use.
    fn name(&mut self, line: u32, name: &str, what: &str) {
        let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && name.len() <= 32;
        if !fits {
            self.wrong(
                line,
                format!("{what} `{name}` must be made of small letters, digits and `_`, and begin with a letter"),
            );
        } else if TAKEN.contains(&name) {
            self.wrong(line, format!("{what} cannot be called `{name}`: the word has a meaning already"));
        }
    }

    fn texts(&mut self, node: &Node, what: &str) -> Vec<Arc<str>> {
        match &node.content {
            Content::List(items) => items.iter().filter_map(|item| self.text(item, what)).collect(),
            _ => self.text(node, what).into_iter().collect(),
        }
    }

    pub(super) fn score(&mut self, node: &Node) -> Option<Score> {
        let fields = self.fields(node, "a score", &SCORE);
        let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node);
        for needed in ["score", "roles", "phases"] {
            if of(needed).is_none() {
                self.wrong(node.line, format!("a score needs `{needed}`"));
            }
        }
        let name = of("score").and_then(|node| self.text(node, "`score`")).unwrap_or_else(|| "score".into());
        let fits = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
        if !fits || *name == *"check" {
            let line = of("score").map_or(0, |node| node.line);
            self.wrong(line, "a score's name is made of small letters, digits and `-`, and is not `check`");
        }
        let about = of("about").and_then(|node| self.text(node, "`about`")).unwrap_or_default();
        let roles = of("roles").map(|node| self.roles(node)).unwrap_or_default();
        self.roles = roles.iter().map(|role| role.name.clone()).collect();
        let settings = of("settings").map(|node| self.settings(node)).unwrap_or_default();
        let phases = of("phases").map(|node| self.phases(node)).unwrap_or_default();
        let results = of("result").map(|node| self.results(node)).unwrap_or_default();
        Some(Score { name, about, roles, settings, phases, results })
    }

    fn roles(&mut self, node: &Node) -> Vec<Role> {
        let roles = self.map(node, "`roles`").to_vec();
        roles.iter().map(|(key, node)| self.role(key, node)).collect()
    }

    fn role(&mut self, key: &Key, node: &Node) -> Role {
        self.name(key.line, &key.name, "a role");
        if crate::setup::Cast::RESERVED.contains(&&*key.name) {
            self.wrong(key.line, format!("a role cannot be called `{}`: the conversation itself is", key.name));
        }
        let mut role =
            Role { name: key.name.clone(), least: 1, most: 1, default: Vec::new(), is_person: false, persona: None };
        if node.content == Content::Nothing {
            return role;
        }
        let name = key.name.clone();
        for (key, node) in self.fields(node, "a role", &ROLE) {
            match &*key.name {
                "seats" => (role.least, role.most) = self.seats(node),
                "default" => role.default = self.texts(node, "`default`"),
                "person" => role.is_person = self.yes(node, "`person`"),
                "persona" => {
                    self.place(format!("`persona` of the role `{name}`"), node.line);
                    role.persona = self.text(node, "`persona`");
                }
                _ => {}
            }
        }
        if role.default.len() as u32 > role.most {
            self.wrong(key.line, format!("the role `{}` has {} seats and more by default", key.name, role.most));
        }
        role
    }

    fn seats(&mut self, node: &Node) -> (u32, u32) {
        let written = node.text().unwrap_or_default();
        let (least, most) = written.split_once("..").unwrap_or((&written, &written));
        let count = |text: &str| text.trim().parse::<u32>().ok();
        match (count(least), count(most)) {
            (Some(least), Some(most)) if least >= 1 && least <= most && most as usize <= Score::MAX_SEATS => {
                (least, most)
            }
            _ => {
                let most = Score::MAX_SEATS;
                self.wrong(node.line, format!("`seats` is a number or from..to, such as 2..8, of at most {most}"));
                (1, 1)
            }
        }
    }

    fn settings(&mut self, node: &Node) -> Vec<Setting> {
        let mut settings = Vec::new();
        for (key, node) in self.map(node, "`settings`") {
            self.name(key.line, &key.name, "a setting");
            let default = match &node.content {
                Content::Bool(truth) => Value::Bool(*truth),
                Content::Number(number) => Value::Number(number.clone()),
                Content::Text(text) => Value::String(text.to_string()),
                Content::Nothing | Content::List(_) | Content::Map(_) => {
                    self.wrong(node.line, format!("the setting `{}` is a number, a text, true or false", key.name));
                    continue;
                }
            };
            settings.push(Setting { name: key.name.clone(), default });
        }
        settings
    }

    fn results(&mut self, node: &Node) -> Vec<Yield> {
        let mut results = Vec::new();
        for (key, node) in self.map(node, "`result`") {
            if let Some(value) = self.text(node, &format!("the result `{}`", key.name)) {
                self.place(format!("the result `{}`", key.name), node.line);
                self.results += 1;
                results.push(Yield { name: key.name.clone(), value });
            }
        }
        results
    }

    fn phases(&mut self, node: &Node) -> Vec<Phase> {
        let Content::List(items) = &node.content else {
            self.wrong(node.line, format!("`phases` must be a list, and is {}", node.kind()));
            return Vec::new();
        };
        if items.is_empty() {
            self.wrong(node.line, "`phases` is empty");
        }
        items.iter().filter_map(|item| self.phase(item)).collect()
    }

    fn phase(&mut self, node: &Node) -> Option<Phase> {
        let [(key, within)] = self
            .map(node, "a phase")
            .to_vec()
            .try_into()
            .map_err(|fields: Vec<(Key, Node)>| match fields.first() {
                Some((key, Node { content: Content::Nothing, .. })) => {
                    let line = fields.get(1).map_or(key.line, |(next, _)| next.line);
                    self.wrong(
                        line,
                        format!("what belongs to `{}` stands further to the right than its name", key.name),
                    );
                }
                Some((key, _)) => {
                    self.wrong(key.line, "a phase is one name with what belongs to it: begin each with a `-`");
                }
                None => {}
            })
            .ok()?;
        if *key.name == *"repeat" {
            return Some(Phase::Repeat(self.repeat(&within)?));
        }
        self.name(key.line, &key.name, "a phase");
        let before = self.phase.replace(key.name.clone());
        let turn = self.turn(&key, &within);
        self.phase = before;
        Some(Phase::Turn(turn))
    }

    fn repeat(&mut self, node: &Node) -> Option<Repeat> {
        let fields = self.fields(node, "a repeat", &REPEAT);
        let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node);
        let nth = self.repeats;
        self.repeats += 1;
        let at_most = match of("at_most") {
            None => {
                self.wrong(node.line, "a repeat needs `at_most`: nothing goes on for ever");
                Times::Number(1)
            }
            Some(times) => {
                self.place(format!("at_most {nth}"), times.line);
                self.times(times)
            }
        };
        let until = of("until").and_then(|node| {
            let until = self.text(node, "`until`");
            self.place(format!("until {nth}"), node.line);
            until
        });
        let phases = match of("phases") {
            Some(phases) => self.phases(phases),
            None => {
                self.wrong(node.line, "a repeat needs `phases`");
                Vec::new()
            }
        };
        Some(Repeat { at_most, until, phases })
    }

    fn times(&mut self, node: &Node) -> Times {
        match &node.content {
            Content::Text(text) => Times::Setting(super::super::compiled::expression(text).into()),
            _ => Times::Number(self.count(node, "`at_most`").unwrap_or(1)),
        }
    }

    fn turn(&mut self, key: &Key, node: &Node) -> Turn {
        let name = key.name.clone();
        let mut turn = Turn {
            name: name.clone(),
            who: Vec::new(),
            one_by_one: false,
            sees: Sees::All,
            blind: false,
            reply: Vec::new(),
            line: None,
            to: None,
            prompt: None,
        };
        self.place(format!("phase {name}"), key.line);
        let of = |what: &str| format!("`{what}` of phase `{name}`");
        for (key, node) in self.fields(node, "a phase", &TURN) {
            self.place(of(&key.name), node.line);
            match &*key.name {
                "who" => turn.who = self.who(node, &name),
                "order" => match node.text().as_deref() {
                    Some("one_by_one") => turn.one_by_one = true,
                    Some("at_once") => {}
                    _ => self.wrong(node.line, "`order` is `at_once` or `one_by_one`"),
                },
                "sees" => turn.sees = self.sees(node, &name),
                "blind" => turn.blind = self.yes(node, "`blind`"),
                "reply" => turn.reply = self.reply(node),
                "line" => turn.line = self.text(node, "`line`"),
                "to" => turn.to = self.text(node, "`to`"),
                "prompt" => turn.prompt = self.text(node, "`prompt`"),
                _ => {}
            }
        }
        if turn.who.is_empty() && !self.problems.iter().any(|problem| problem.phase.as_ref() == Some(&name)) {
            self.wrong(key.line, "a phase needs `who`");
        }
        turn
    }

    fn who(&mut self, node: &Node, phase: &str) -> Vec<Who> {
        match &node.content {
            Content::List(items) => items.iter().flat_map(|item| self.who(item, phase)).collect(),
            Content::Map(fields) if fields.iter().any(|(key, _)| *key.name == *"pick") => {
                let fields = self.fields(node, "a pick", &["pick"]);
                fields.first().and_then(|(_, node)| self.pick(node, phase)).into_iter().collect()
            }
            Content::Map(_) => {
                let fields = self.fields(node, "`who`", &["role", "if", "pick"]);
                let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node);
                let role = of("role").and_then(|node| self.text(node, "`role`"));
                if of("role").is_none() {
                    self.wrong(node.line, "`who` needs a `role`");
                }
                let only_if = of("if").and_then(|node| {
                    self.place(format!("`if` of phase `{phase}`"), node.line);
                    self.text(node, "`if`")
                });
                role.map(|role| Who::Role { role, only_if }).into_iter().collect()
            }
            _ => self.text(node, "`who`").map(|role| Who::Role { role, only_if: None }).into_iter().collect(),
        }
    }

    fn pick(&mut self, node: &Node, phase: &str) -> Option<Who> {
        let fields = self.fields(node, "a pick", &["by", "from", "again", "prompt"]);
        let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node);
        for needed in ["by", "from"] {
            if of(needed).is_none() {
                self.wrong(node.line, format!("a pick needs `{needed}`"));
            }
        }
        self.place(format!("`pick` of phase `{phase}`"), of("prompt").unwrap_or(node).line);
        let by = of("by").and_then(|node| self.text(node, "`by`"))?;
        let from = self.texts(of("from")?, "`from`");
        let again = of("again").is_none_or(|node| self.yes(node, "`again`"));
        let prompt = of("prompt").and_then(|node| self.text(node, "`prompt`"));
        Some(Who::Pick { by, from, again, prompt })
    }

    fn sees(&mut self, node: &Node, phase: &str) -> Sees {
        if node.text().as_deref() == Some("all") {
            return Sees::All;
        }
        match &node.content {
            Content::List(items) => Sees::These(items.iter().filter_map(|item| self.seen(item, phase)).collect()),
            _ => Sees::These(self.seen(node, phase).into_iter().collect()),
        }
    }

    fn seen(&mut self, node: &Node, phase: &str) -> Option<Seen> {
        let Content::Map(_) = &node.content else {
            let phase = self.text(node, "`sees`")?;
            return Some(Seen { phase, only_where: None, at_most: None, drawn: false });
        };
        let fields = self.fields(node, "`sees`", &["phase", "where", "at_most", "drawn"]);
        let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node);
        if of("phase").is_none() {
            self.wrong(node.line, "`sees` needs a `phase`");
        }
        let only_where = of("where").and_then(|node| {
            self.place(format!("`where` of phase `{phase}`"), node.line);
            self.text(node, "`where`")
        });
        Some(Seen {
            phase: of("phase").and_then(|node| self.text(node, "`phase`"))?,
            only_where,
            at_most: of("at_most").and_then(|node| self.count(node, "`at_most`")),
            drawn: of("drawn").is_some_and(|node| self.yes(node, "`drawn`")),
        })
    }

    fn reply(&mut self, node: &Node) -> Vec<ReplyField> {
        let mut fields = Vec::new();
        for (key, node) in self.map(node, "`reply`") {
            self.name(key.line, &key.name, "a field");
            if let Some(form) = self.form(node) {
                fields.push(ReplyField { name: key.name.clone(), form });
            }
        }
        fields
    }

    fn form(&mut self, node: &Node) -> Option<Form> {
        const FORMS: &str =
            "text, yes_no, a range such as 1..10, a list of words, { one_of: … }, { order: … } or { list: … }";
        match &node.content {
            Content::Text(text) => match &**text {
                "text" => Some(Form::Text),
                "yes_no" => Some(Form::YesNo),
                other => match range(other) {
                    Some((least, most)) => Some(Form::Number { least, most }),
                    None => {
                        let meant = meant(other, ["text", "yes_no"].into_iter());
                        let what = if meant.is_empty() { format!("; there is {FORMS}") } else { meant };
                        self.wrong(node.line, format!("a reply has no form `{other}`{what}"));
                        None
                    }
                },
            },
            Content::List(_) => Some(Form::OneOf(Of::Words(self.words(node)))),
            Content::Map(fields) => {
                let of = |name: &str| fields.iter().find(|(key, _)| *key.name == *name).map(|(_, node)| node.clone());
                if let Some(of) = of("one_of") {
                    self.fields(node, "a choice", &["one_of"]);
                    return Some(Form::OneOf(self.of(&of)?));
                } else if let Some(of) = of("order") {
                    self.fields(node, "an order", &["order"]);
                    return Some(Form::Order(self.of(&of)?));
                } else if let Some(form) = of("list") {
                    self.fields(node, "a list", &["list", "at_most"]);
                    let most = of("at_most").and_then(|node| self.count(&node, "`at_most`"));
                    if of("at_most").is_none() {
                        self.wrong(node.line, "a list needs `at_most`");
                    }
                    let of = self.form(&form)?;
                    if !matches!(of, Form::Text | Form::OneOf(_)) {
                        self.wrong(form.line, "a list is one of texts, or of words to choose from");
                    }
                    return Some(Form::List { of: Box::new(of), at_most: most.unwrap_or(1).min(50) });
                }
                self.wrong(node.line, format!("a field of a reply is {FORMS}"));
                None
            }
            Content::Nothing | Content::Bool(_) | Content::Number(_) => {
                self.wrong(node.line, format!("a field of a reply is {FORMS}"));
                None
            }
        }
    }

    fn of(&mut self, node: &Node) -> Option<Of> {
        match &node.content {
            Content::List(_) => Some(Of::Words(self.words(node))),
            _ => {
                let name = self.text(node, "what is chosen from")?;
                Some(if self.roles.contains(&name) { Of::Role(name) } else { Of::Phase(name) })
            }
        }
    }

    fn words(&mut self, node: &Node) -> Vec<Arc<str>> {
        let words = self.texts(node, "a word to choose");
        if words.len() < 2 {
            self.wrong(node.line, "a choice is between two words at least");
        }
        words
    }
}

/// A range such as `0..100`.
fn range(written: &str) -> Option<(f64, f64)> {
    let (least, most) = written.split_once("..")?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let (least, most) = (number(least)?, number(most)?);
    (least < most).then_some((least, most))
}
