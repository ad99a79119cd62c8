//! What small models are told in a scene, and how they come to what they do and judge.
//!
//! What was said so far is the same for everybody and comes first; who somebody is comes last. A character is asked
//! whether it speaks, how it feels, to whom, and then for its words; the bracket form is written from that. The
//! moderator is asked one thing: how far the scene has come.

use std::sync::Arc;

use minijinja::{Value, context};
use serde_json::{Map, json};

use super::{
    bracket::{Action, ActionKind},
    director::Report,
    judge::spoken,
    player::Player,
    settings::{Edition, Settings},
    told::{NOW, Onstage, Seen},
};
use crate::{
    ask::{Choice, Part, Pick, Plan, Request, Text, Thread, Words},
    id::Seq,
    line::{Line, Speaker},
    prompt::Templates,
    setup::{Agent, BadSetup},
    stage::Stage,
};

/// Sentences and characters of a line, at most.
const LINE: (usize, usize) = (2, 220);
const CUT_IN: (usize, usize) = (1, 140);
const ACT: (usize, usize) = (1, 60);
const MEMORY: (usize, usize) = (2, 300);
/// The newest lines that are shown, at least; see the discussion's.
const SHOWN: usize = 12;

/// How a character can feel. The words are those that moods and voices are moved by.
const TONES: [&str; 18] = [
    "angry",
    "afraid",
    "amused",
    "anxious",
    "ashamed",
    "bitter",
    "calm",
    "confused",
    "cold",
    "curious",
    "determined",
    "excited",
    "gentle",
    "hopeful",
    "hurt",
    "sad",
    "surprised",
    "tired",
];

const SYSTEM: &str = "small/scene_system.j2";
const EXAMPLE: &str = "small/scene_example.j2";
const UPDATE: &str = "small/scene_update.j2";
const TONE: &str = "small/scene_tone.j2";
const TO: &str = "small/scene_to.j2";
const WORDS: &str = "small/scene_words.j2";
const DOES: &str = "small/scene_act.j2";
const EVIDENCE: &str = "small/scene_evidence.j2";
const JUDGE: &str = "small/scene_judge.j2";
const MEMORY_TEMPLATE: &str = "small/scene_memory.j2";

/// The built-in templates of this file.
pub(super) const TEMPLATES: [(&str, &str); 10] = [
    (EVIDENCE, include_str!("templates/small/scene_evidence.j2")),
    (DOES, include_str!("templates/small/scene_act.j2")),
    (EXAMPLE, include_str!("templates/small/scene_example.j2")),
    (JUDGE, include_str!("templates/small/scene_judge.j2")),
    (MEMORY_TEMPLATE, include_str!("templates/small/scene_memory.j2")),
    (SYSTEM, include_str!("templates/small/scene_system.j2")),
    (TO, include_str!("templates/small/scene_to.j2")),
    (TONE, include_str!("templates/small/scene_tone.j2")),
    (UPDATE, include_str!("templates/small/scene_update.j2")),
    (WORDS, include_str!("templates/small/scene_words.j2")),
];

/// What a small model is told of its own.
pub(super) struct Own<'a> {
    pub(super) notes: &'a [Arc<str>],
    pub(super) feelings: Option<&'a Arc<str>>,
    /// The record as of which the lines are told, and how many there were.
    pub(super) as_of: Seq,
    pub(super) until: usize,
}

/// What a character does in a beat.
pub(super) fn act(player: &Player, onstage: Onstage<'_>, agent: &Agent, own: &Own<'_>) -> Request {
    let Onstage { stage, settings, .. } = onstage;
    let prompt = stage.templates().render(UPDATE, &variables(player, onstage, agent, own));
    request(stage, settings, agent, prompt, plan(player, stage, settings, own))
}

/// What a character remembers when all is over.
pub(super) fn remember(player: &Player, onstage: Onstage<'_>, agent: &Agent) -> Request {
    let Onstage { stage, settings, .. } = onstage;
    let until = stage.transcript().lines().len();
    let lines = lines(onstage, NOW, until);
    let language = onstage.settings.spoken_language();
    let variables = context! { lines, name => &player.name, persona => persona(agent), language };
    let prompt = stage.templates().render(MEMORY_TEMPLATE, &variables);
    request(stage, settings, agent, prompt, Plan::plain(Words::new("words", MEMORY.0, MEMORY.1)))
}

/// Small models take what is only talked of for done. Before so many beats have been played a goal is not reached.
const EARNED_BY: u32 = 6;

/// How far the scene has come.
pub(super) fn judge(onstage: Onstage<'_>, agent: &Agent, (as_of, until): (Seq, usize), report: &Report) -> Request {
    let Onstage { stage, settings, .. } = onstage;
    let variables = context! { lines => lines(onstage, as_of, until), goal => &settings.goal };
    let prompt = stage.templates().render(JUDGE, &variables);
    let far = |words: &str, progress: f64| Pick::new(words, progress);
    let mut how_far =
        vec![far("Not at all", 0.0), far("Only a little", 0.2), far("About half of it", 0.5), far("Most of it", 0.7)];
    if report.beat + 1 >= EARNED_BY.min(report.max_beats) {
        how_far.push(Pick::new("All of it", 1.0).then(evidence(onstage, as_of, until)));
    }
    let plan = Plan::new(vec![Part::Choice(Choice::new("progress", how_far).judged())], |fields| {
        let mut judgement =
            Map::from_iter([("goalReached".to_owned(), json!(false)), ("naturalEnd".to_owned(), json!(false))]);
        judgement.extend(fields.clone());
        if let Some(line) = judgement.remove("line") {
            judgement.insert("evidence".to_owned(), json!([{"part": 1, "line": line}]));
        }
        serde_json::Value::Object(judgement).to_string()
    });
    request(stage, settings, agent, prompt, plan)
}

/// The newest words out of which it may choose those that show the goal.
const CHOSEN_FROM: usize = 6;

/// What it is asked that says that the goal is reached: which words show it. It chooses out of what was said, so it can
/// quote nothing else.
fn evidence(onstage: Onstage<'_>, as_of: Seq, until: usize) -> Vec<Part> {
    let settings = onstage.settings;
    let reached = || vec![Part::Given { field: "goalReached".into(), value: json!(true) }];
    if settings.edition == Edition::First {
        return reached();
    }
    let lines = onstage.stage.transcript().lines()[..until].iter().filter(|line| spoken(line));
    let newest: Vec<&Line> = lines.rev().take(CHOSEN_FROM).collect();
    let mut picks = vec![Pick::new("In none of them", serde_json::Value::Null)];
    for line in newest.into_iter().rev() {
        let words = line.heard(as_of);
        let pick = Pick::new(in_words(line, settings, as_of), &*words).then(reached());
        if picks.iter().all(|other| other.words != pick.words) {
            picks.push(pick);
        }
    }
    let ask = onstage.stage.templates().render(EVIDENCE, &context! { goal => &settings.goal });
    vec![Part::Choice(Choice::new("line", picks).asked(ask).judged())]
}

fn request(stage: &Stage, settings: &Settings, agent: &Agent, prompt: Text, plan: Plan) -> Request {
    Request {
        model: agent.model.clone(),
        system: stage.templates().render(SYSTEM, &head(stage, settings)),
        thread: Thread::example(&stage.templates().render(EXAMPLE, &context! {})),
        prompt,
        shape: None,
        grammar: None,
        plan: Some(Arc::new(plan)),
        sampling: agent.sampling.clone(),
    }
}

fn head(stage: &Stage, settings: &Settings) -> Value {
    let names: Vec<String> =
        stage.cast().agents().iter().map(|agent| settings.name_of(&agent.name).to_owned()).collect();
    context! {
        prompt => settings.context_of_characters(),
        setting => &settings.setting,
        goal => settings.goal_of_characters(),
        style => &settings.style,
        names,
        language => settings.spoken_language(),
    }
}

fn persona(agent: &Agent) -> Option<&str> {
    agent.persona.as_deref().map(str::trim)
}

fn variables(player: &Player, onstage: Onstage<'_>, agent: &Agent, own: &Own<'_>) -> Value {
    let Onstage { stage, settings, .. } = onstage;
    context! {
        lines => lines(onstage, own.as_of, own.until),
        name => &player.name,
        others => player.others(stage, settings),
        persona => persona(agent),
        brief => settings.briefs.get(&agent.name),
        memories => settings.memories.get(&agent.name),
        feelings => own.feelings,
        notes => own.notes.to_vec(),
    }
}

/// The newest of what happened, in plain words.
fn lines(onstage: Onstage<'_>, as_of: Seq, until: usize) -> Vec<String> {
    let settings = onstage.settings;
    let all = &onstage.stage.transcript().lines()[..until];
    let left_out = (all.len().saturating_sub(SHOWN) / SHOWN) * SHOWN;
    let mut told: Vec<(Seq, String)> =
        all[left_out..].iter().map(|line| (line.seq, in_words(line, settings, as_of))).collect();
    let from = left_out.checked_sub(1).map(|last| all[last].seq);
    let seen = onstage.seen_after(from, as_of);
    told.extend(
        seen.map(|Seen { at, who, nonverbal }| (*at, format!("{}: ({})", settings.name_of(who), nonverbal.join("; ")))),
    );
    told.sort_by_key(|(at, _)| *at);
    told.into_iter().map(|(_, told)| told).collect()
}

/// A line as a play has it.
fn in_words(line: &Line, settings: &Settings, as_of: Seq) -> String {
    match &line.speaker {
        Speaker::Agent(agent) if spoken(line) => {
            let tone = line.delivery.tone.as_ref().map(|tone| format!(" ({tone})")).unwrap_or_default();
            format!("{}{tone}: {}", settings.name_of(agent), line.heard(as_of))
        }
        Speaker::Agent(agent) => format!("{}: ({})", settings.name_of(agent), line.text),
        _ => format!("({})", line.text),
    }
}

fn plan(player: &Player, stage: &Stage, settings: &Settings, own: &Own<'_>) -> Plan {
    let templates = stage.templates();
    let lines = &stage.transcript().lines()[..own.until];
    let is_other = |line: &&Line| spoken(line) && !player.said(line);
    let last = lines.iter().rev().find(is_other).map(|line| (line, line.heard(own.as_of)));
    let heard_words: Arc<[Arc<str>]> = lines.iter().rev().take(2 * SHOWN).map(|line| line.heard(own.as_of)).collect();
    let (name, language) = (&player.name, settings.spoken_language());
    let words = |interrupts: bool, (sentences, max_chars): (usize, usize)| {
        let from = last.as_ref().and_then(|(line, _)| match &line.speaker {
            Speaker::Agent(agent) => Some(settings.name_of(agent).to_owned()),
            _ => None,
        });
        let words = last.as_ref().map(|(_, words)| words.clone());
        let ask = templates.render(WORDS, &context! { name, last => words.clone(), from, interrupts, language });
        let line = Words::new("text", sentences, max_chars).asked(ask).about(words);
        Part::Words(line.having_heard(heard_words.clone()))
    };
    let tone = || {
        let picks = TONES.iter().map(|tone| Pick::new(*tone, *tone)).collect();
        Part::Choice(Choice::new("tone", picks).asked(templates.render(TONE, &context! { name })))
    };
    let others = player.others(stage, settings);
    let to = || {
        let picks = others.iter().map(|other| Pick::new(other.clone(), other.clone())).collect();
        Part::Choice(Choice::new("to", picks).asked(templates.render(TO, &context! { name })))
    };
    let speaks = Pick::new(format!("Yes, {name} speaks"), "speak").then(vec![tone(), to(), words(false, LINE)]);
    let does = Words::new("act", ACT.0, ACT.1).asked(templates.render(DOES, &context! { name, language }));
    let reacts = Pick::new(format!("No, {name} only does something"), "react").then(vec![tone(), Part::Words(does)]);
    let silent = Pick::new(format!("No, {name} stays silent and listens"), "silent");
    let mut options = vec![speaks];
    // Nobody has anything to react to at the beginning.
    if let Some((line, _)) = &last {
        options.extend([reacts, silent]);
        let is_fresh = line.id.0 as usize + others.len() >= lines.len();
        let is_whole = line.cut_at.is_none_or(|cut| cut > own.as_of);
        if let Some(phrase) = half(&line.text).filter(|_| is_fresh && is_whole) {
            let after = Part::Given { field: "after".into(), value: json!(phrase) };
            let cuts_in = Pick::new(format!("Yes, {name} interrupts"), "interrupt");
            options.push(cuts_in.then(vec![tone(), after, words(true, CUT_IN)]));
        }
    }
    Plan::new(vec![Part::Choice(Choice::new("kind", options))], bracket)
}

/// The first words of a line, where somebody could come in: about half of them, if it is long enough to be cut.
fn half(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let half = words.len() / 2;
    let phrase = words.get(half.saturating_sub(3)..half)?.join(" ");
    let phrase = phrase.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    (words.len() >= 8 && !phrase.contains(['"', '[', ']'])).then_some(phrase)
}

/// What was answered, in the form that characters answer in.
fn bracket(fields: &Map<String, serde_json::Value>) -> String {
    let of = |field: &str| fields.get(field).and_then(serde_json::Value::as_str).map(Arc::<str>::from);
    let kind = match of("kind").as_deref() {
        Some("react") => ActionKind::React,
        Some("silent") => ActionKind::Silent,
        Some("interrupt") => ActionKind::Interrupt,
        _ => ActionKind::Speak,
    };
    let act = of("act").map(|act| Arc::from(act.trim().trim_end_matches('.')));
    let action = Action {
        kind,
        to: of("to"),
        tone: of("tone"),
        nonverbal: act.into_iter().collect(),
        after: of("after"),
        text: of("text").unwrap_or_default(),
    };
    action.to_string()
}

/// Fills every template of this file once.
pub(super) fn try_templates(templates: &Templates, player: &Player, onstage: Onstage<'_>) -> Result<(), BadSetup> {
    let Onstage { stage, settings, .. } = onstage;
    let agent = &stage.cast().agents()[0];
    let own = Own { notes: &["note".into()], feelings: None, as_of: NOW, until: 0 };
    let name = &player.name;
    let lines = ["line"];
    let language = settings.spoken_language();
    let words = context! { name, last => "text", from => "name", interrupts => false, language };
    let all = [
        (SYSTEM, head(stage, settings)),
        (EXAMPLE, context! {}),
        (UPDATE, variables(player, onstage, agent, &own)),
        (TONE, context! { name }),
        (TO, context! { name }),
        (DOES, context! { name, language }),
        (WORDS, words),
        (EVIDENCE, context! { goal => &settings.goal }),
        (JUDGE, context! { lines, goal => &settings.goal }),
        (MEMORY_TEMPLATE, context! { lines, name, persona => persona(agent), language }),
    ];
    all.iter().try_for_each(|(template, variables)| templates.try_render(template, variables).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_becomes_the_form_that_characters_answer_in() {
        let cases = [
            (
                json!({"kind": "speak", "tone": "angry", "to": "Bob", "text": "No \"more\"."}),
                r#"[TO: Bob, TONE: angry] "No \"more\".""#,
            ),
            (json!({"kind": "react", "tone": "sad", "act": "looks away."}), "[REACT, TONE: sad, *looks away*]"),
            (json!({"kind": "silent"}), "[SILENT]"),
            (
                json!({"kind": "interrupt", "after": "I can explain", "tone": "cold", "text": "Then do."}),
                r#"[INTERRUPT after "I can explain", TONE: cold] "Then do.""#,
            ),
        ];
        for (fields, form) in cases {
            let written = bracket(fields.as_object().expect("fields"));
            assert_eq!(written, form);
            let read: Result<Action, _> = written.parse();
            assert!(read.is_ok(), "{written}");
        }
    }

    #[test]
    fn only_a_long_line_is_cut_in_its_middle() {
        assert_eq!(half("Look, I can explain what happened with the client."), Some("I can explain".to_owned()));
        assert_eq!(half("No. Never."), None);
        assert_eq!(half(""), None);
    }

    #[test]
    fn every_tone_moves_a_mood() {
        for tone in TONES {
            assert_ne!(
                super::super::mood::Mood::default().with_tone(tone),
                super::super::mood::Mood::default(),
                "{tone}"
            );
        }
    }
}
