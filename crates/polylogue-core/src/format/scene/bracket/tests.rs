//! Replies as models write them, case by case.

use super::*;

/// Alice replies among Bob and Charlie Brown: the canonical form of what was read, and the problems' names.
fn check(cases: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (reply, canonical, problems) in cases {
        let (action, found) = read(reply, "Alice", &["Bob", "Charlie Brown"]);
        let found: Vec<String> = found.iter().map(name).collect();
        if action.to_string() != *canonical || found != *problems {
            wrong.push(format!("{reply:?}\n  is {action} {found:?}\n  not {canonical} {problems:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn name(problem: &Problem) -> String {
    serde_json::to_value(problem).unwrap()["type"].as_str().unwrap().to_owned()
}

fn alice(reply: &str) -> Action {
    read(reply, "Alice", &["Bob", "Charlie Brown"]).0
}

#[test]
fn should_parse_directed_dialog_with_tone() {
    let action = alice(r#"[TO: Bob, TONE: angry] "Why did you do that?""#);
    assert_eq!(action.kind, ActionKind::Speak);
    assert_eq!(action.to.as_deref(), Some("Bob"));
    assert_eq!(action.tone.as_deref(), Some("angry"));
    assert_eq!(&*action.text, "Why did you do that?");
}

#[test]
fn should_parse_interruption_with_phrase() {
    let action = alice(r#"[INTERRUPT after "I want to", TONE: furious] "No!""#);
    assert_eq!(action.kind, ActionKind::Interrupt);
    assert_eq!(action.after.as_deref(), Some("I want to"));
    assert_eq!(action.tone.as_deref(), Some("furious"));
}

#[test]
fn should_parse_silent_response_with_non_verbal() {
    let action = alice("[SILENT, *crosses arms*]");
    assert_eq!(action.kind, ActionKind::Silent);
    assert_eq!(action.nonverbal, ["crosses arms".into()]);
}

#[test]
fn should_handle_malformed_response_gracefully() {
    let (action, problems) = read("Just some text without formatting", "Alice", &["Bob"]);
    assert_eq!(&*action.text, "Just some text without formatting");
    assert_eq!(problems, [Problem::NoBracket, Problem::MissingQuotes]);
}

#[test]
fn every_form_of_the_reference_is_canonical() {
    for reply in [
        r#"[TO: Bob, TONE: angry] "Why?""#,
        r#"[TONE: nervous] "Um, maybe...""#,
        r#"[TO: Bob, TONE: sad, *looks down*] "Sorry.""#,
        r#"[INTERRUPT after "I think", TONE: angry] "No!""#,
        "[SILENT]",
        "[SILENT, *crosses arms*]",
        "[REACT, TONE: shocked, *gasps*]",
        r#"[TO: Bob, TONE: frustrated] "I can't believe you would miss such an important deadline!""#,
        r#"[TO: Charlie Brown, TONE: apologetic, *looks down at hands*] "You're right. I messed up.""#,
        r#"[INTERRUPT after "I want to", TONE: angry] "No! You don't get to make excuses!""#,
        r#"[TONE: stern, but controlled, *stands up, slowly*, *sits*] "Fine.""#,
        r#"[*waves*] "Hi.""#,
        r#"[SPEAK] "Hi.""#,
        r#"[INTERRUPT, TO: Bob] "Wait.""#,
    ] {
        check(&[(reply, reply, &[])]);
    }
}

#[test]
fn keys_values_and_their_order() {
    check(&[
        (r#"[to: bob, tone: angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"[TONE: angry, TO: Bob] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"[*stands*, TONE: angry, TO: Bob] "Why?""#, r#"[TO: Bob, TONE: angry, *stands*] "Why?""#, &[]),
        (r#"[TO:Bob,TONE:angry]"Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"[TO: Bob TONE: angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"[TO: Bob; TONE: angry | *nods*] "Why?""#, r#"[TO: Bob, TONE: angry, *nods*] "Why?""#, &[]),
        (r#"[TO = Bob, TONE = angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"[TO: Bob] [TONE: angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
        (r#"(TONE: sad) "Why?""#, r#"[TONE: sad] "Why?""#, &[]),
        (r#"【TO：Bob，TONE：angry】「なぜ？」"#, r#"[TO: Bob, TONE: angry] "なぜ？""#, &[]),
        (r#"[MOOD: angry] "Why?""#, r#"[TONE: angry] "Why?""#, &[]),
        (r#"[EMOTION: "angry"] "Why?""#, r#"[TONE: angry] "Why?""#, &[]),
        (r#"[AN: Bob, TON: wütend] "Warum?""#, r#"[TO: Bob, TONE: wütend] "Warum?""#, &[]),
        (r#"[TONE: angry, hurt] "Why?""#, r#"[TONE: angry, hurt] "Why?""#, &[]),
        (r#"[TONE: angry, slams the table] "Why?""#, r#"[TONE: angry, *slams the table*] "Why?""#, &["no_key"]),
        (r#"[TONE: sad, TONE: angry] "Why?""#, r#"[TONE: sad, angry] "Why?""#, &["second_tone"]),
        (r#"[VOLUME: loud, TONE: sad] "Why?""#, r#"[TONE: sad, *volume: loud*] "Why?""#, &["unknown_key"]),
        (r#"[angry] "Why?""#, r#"[TONE: angry] "Why?""#, &["no_key"]),
        (r#"[sighs] "Why?""#, r#"[*sighs*] "Why?""#, &["no_key"]),
        (r#"[Bob, angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &["no_key", "no_key"]),
        (r#"[Alice, TO: Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &["name_prefix"]),
        (
            r#"[TO: Bob, TONE: sad, *looks down, then away*, *sighs*] "Why?""#,
            r#"[TO: Bob, TONE: sad, *looks down, then away*, *sighs*] "Why?""#,
            &[],
        ),
        (r#"[TO: Bob, *sighs] "Why?""#, r#"[TO: Bob, *sighs*] "Why?""#, &[]),
        (r#"**[TO: Bob, TONE: angry]** "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &[]),
    ]);
}

#[test]
fn who_is_addressed() {
    check(&[
        (r#"[TO: everyone, TONE: sad] "Why?""#, r#"[TONE: sad] "Why?""#, &[]),
        (r#"[TO: All] "Why?""#, r#"[SPEAK] "Why?""#, &[]),
        (r#"[TO: BOB] "Why?""#, r#"[TO: Bob] "Why?""#, &[]),
        (r#"[TO: charlie] "Why?""#, r#"[TO: Charlie Brown] "Why?""#, &[]),
        (r#"[TO: Bob Smith] "Why?""#, r#"[TO: Bob] "Why?""#, &[]),
        (r#"[TO: @Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &[]),
        (r#"[TO: Bob and Charlie] "Why?""#, r#"[TO: Bob] "Why?""#, &["several_targets"]),
        (r#"[TO: Bob, Charlie, TONE: sad] "Why?""#, r#"[TO: Bob, TONE: sad] "Why?""#, &["several_targets"]),
        (r#"[TO: Dora] "Why?""#, r#"[SPEAK] "Why?""#, &["unknown_target"]),
        (r#"[TO: Alice, TONE: sad] "Why me?""#, r#"[TONE: sad] "Why me?""#, &["unknown_target"]),
    ]);
}

#[test]
fn quotes_of_all_kinds() {
    check(&[
        ("[TONE: sad] “I know.”", r#"[TONE: sad] "I know.""#, &[]),
        ("[TONE: sad] «Je sais.»", r#"[TONE: sad] "Je sais.""#, &[]),
        ("[TONE: sad] „Ich weiß.“", r#"[TONE: sad] "Ich weiß.""#, &[]),
        ("[TONE: sad] 「分かった。」", r#"[TONE: sad] "分かった。""#, &[]),
        ("[TONE: sad] 'I don't know.'", r#"[TONE: sad] "I don't know.""#, &[]),
        ("[TONE: sad] ‘I don’t know.’", r#"[TONE: sad] "I don’t know.""#, &[]),
        ("[TONE: sad] I know.", r#"[TONE: sad] "I know.""#, &["missing_quotes"]),
        ("[TONE: sad] \"I know.", r#"[TONE: sad] "I know.""#, &["unclosed_quotes"]),
        ("[TONE: sad] I know.\"", r#"[TONE: sad] "I know.""#, &["missing_quotes"]),
        (r#"[TONE: sad] "He said "no" twice.""#, r#"[TONE: sad] "He said \"no\" twice.""#, &[]),
        (r#"[TONE: sad] "He said \"no\" twice.""#, r#"[TONE: sad] "He said \"no\" twice.""#, &[]),
        (r#"[TONE: sad] He said "no" twice."#, r#"[TONE: sad] "He said \"no\" twice.""#, &["missing_quotes"]),
        (r#"[TONE: sad] "See [page 4], please.""#, r#"[TONE: sad] "See [page 4], please.""#, &[]),
        ("[TONE: sad] \"One.\nTwo.\"", r#"[TONE: sad] "One. Two.""#, &[]),
        ("[TONE: sad]\n\n\"One.\"\n\n\"Two.\"", r#"[TONE: sad] "One. Two.""#, &[]),
        ("[TONE: sad] \"Tab\there,\u{7} bell.\"", r#"[TONE: sad] "Tab here, bell.""#, &[]),
        (r#"[TONE: sad] "I *really* mean it.""#, r#"[TONE: sad] "I *really* mean it.""#, &[]),
        (r#"[TONE: sad] "A path: C:\new""#, r#"[TONE: sad] "A path: C:\\new""#, &[]),
    ]);
}

#[test]
fn what_stands_around_the_bracket() {
    check(&[
        (r#"Alice: [TO: Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &["name_prefix"]),
        (r#"**Alice**: [TO: Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &["name_prefix"]),
        (r#"Alice [TO: Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &["name_prefix"]),
        (r#"Alice: "Why?""#, r#"[SPEAK] "Why?""#, &["name_prefix", "no_bracket"]),
        (r#"Sure, here it is: [TO: Bob] "Why?""#, r#"[TO: Bob] "Why?""#, &["text_before_bracket"]),
        (r#"*stands up* [TO: Bob] "Why?""#, r#"[TO: Bob, *stands up*] "Why?""#, &[]),
        (r#""Why?" [TO: Bob]"#, r#"[TO: Bob] "Why?""#, &[]),
        (r#"[TO: Bob] "Why?" *sits down*"#, r#"[TO: Bob, *sits down*] "Why?""#, &[]),
        (r#"[TO: Bob] "Why?" [*sits down*]"#, r#"[TO: Bob, *sits down*] "Why?""#, &[]),
        (r#"[TO: Bob] *sighs* "Why?" *sits* "Tell me.""#, r#"[TO: Bob, *sighs*, *sits*] "Why? Tell me.""#, &[]),
        (r#"[TO: Bob] "Why," she asks. "Tell me.""#, r#"[TO: Bob, *she asks*] "Why, Tell me.""#, &["narration"]),
        (r#"[TO: Bob] Alice sighs. "Why?""#, r#"[TO: Bob, *Alice sighs*] "Why?""#, &["narration"]),
        (r#"[TO: Bob] (sighing) "Why?""#, r#"[TO: Bob, *sighing*] "Why?""#, &[]),
        ("```\n[TO: Bob] \"Why?\"\n```", r#"[TO: Bob] "Why?""#, &["fence"]),
        ("`[TO: Bob] \"Why?\"`", r#"[TO: Bob] "Why?""#, &[]),
        ("<think>[TO: Bob] \"No\"</think>[TO: Bob] \"Why?\"", r#"[TO: Bob] "Why?""#, &["thinking"]),
        (r#"[TO: Bob] "Why?" [TO: Bob] "Tell me!""#, r#"[TO: Bob] "Why?""#, &["second_response"]),
        ("[TO: Bob] \"Why?\"\nAlice: [SILENT]", r#"[TO: Bob] "Why?""#, &["second_response"]),
        (
            "[TO: Bob] \"Why?\nAlice [TONE: sad] \"Tell me!\"",
            r#"[TO: Bob] "Why?""#,
            &["second_response", "unclosed_quotes"],
        ),
        ("[TO: Bob] \"Why? [TONE: sad] \"Tell me!\"", r#"[TO: Bob] "Why?""#, &["second_response", "unclosed_quotes"]),
        ("[TO: Bob] \"Why?\"\nBob: \"Because.\"", r#"[TO: Bob] "Why?""#, &["went_on_as_another"]),
        ("[TO: Bob] \"Why?\"\n\nBob [TO: Alice] \"Because.\"", r#"[TO: Bob] "Why?""#, &["went_on_as_another"]),
        ("[TO: Bob] \"Why?\"\n[EVENT: Thunder]", r#"[TO: Bob] "Why?""#, &["went_on_as_another"]),
        ("Bob: \"Because.\"", r#"[SPEAK] "Because.""#, &["went_on_as_another", "no_bracket"]),
        ("[TO: Bob, TONE: sad]\nBob: \"Because.\"", r#"[TO: Bob, TONE: sad] "Because.""#, &["went_on_as_another"]),
        (r#"[TO: Bob, TONE: angry "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &["no_closing_bracket"]),
        (r#"TO: Bob, TONE: angry] "Why?""#, r#"[TO: Bob, TONE: angry] "Why?""#, &["no_bracket"]),
        (r#"TONE: angry "Why?""#, r#"[TONE: angry] "Why?""#, &["no_bracket"]),
        ("TO: Bob\nTONE: angry\n\"Why?\"", r#"[TO: Bob, TONE: angry] "Why?""#, &["no_bracket"]),
        ("What? I never said that.", r#"[SPEAK] "What? I never said that.""#, &["no_bracket", "missing_quotes"]),
        (r#"*sighs* "Hello""#, r#"[*sighs*] "Hello""#, &["no_bracket"]),
        ("*sighs* I know.", r#"[*sighs*] "I know.""#, &["no_bracket", "missing_quotes"]),
        ("I *really* know.", r#"[SPEAK] "I *really* know.""#, &["no_bracket", "missing_quotes"]),
    ]);
}

#[test]
fn silence_reactions_and_interruptions() {
    check(&[
        ("", "[SILENT]", &["empty_reply"]),
        (" \n ", "[SILENT]", &["empty_reply"]),
        ("...", "[SILENT]", &["no_bracket"]),
        ("…", "[SILENT]", &["no_bracket"]),
        ("[SILENT].", "[SILENT]", &[]),
        ("[silent]", "[SILENT]", &[]),
        ("SILENT", "[SILENT]", &["no_bracket"]),
        ("Silent.", "[SILENT]", &["no_bracket"]),
        ("SILENT, *crosses arms*", "[SILENT, *crosses arms*]", &["no_bracket"]),
        ("[SILENT, TONE: sad]", "[SILENT, TONE: sad]", &[]),
        ("[SILENT, crosses arms]", "[SILENT, *crosses arms*]", &["no_key"]),
        ("[SILENT] *crosses arms*", "[SILENT, *crosses arms*]", &[]),
        ("[SILENT] Alice crosses her arms.", "[SILENT, *Alice crosses her arms*]", &["missing_quotes", "narration"]),
        (r#"[SILENT] "Hm.""#, r#"[SPEAK] "Hm.""#, &["words_with_silence"]),
        (r#"[REACT, TONE: shocked, *gasps*] "What?""#, r#"[TONE: shocked, *gasps*] "What?""#, &["words_with_silence"]),
        ("[REACT, TONE: shocked] What?!", r#"[TONE: shocked] "What?!""#, &["missing_quotes", "words_with_silence"]),
        (
            "[REACT, TONE: shocked] drops the mug",
            "[REACT, TONE: shocked, *drops the mug*]",
            &["missing_quotes", "narration"],
        ),
        ("[REACT: gasps]", "[REACT, *gasps*]", &["no_key"]),
        ("[*sighs*]", "[REACT, *sighs*]", &[]),
        ("*sighs*", "[REACT, *sighs*]", &["no_bracket"]),
        ("[TONE: angry]", "[REACT, TONE: angry]", &[]),
        ("[TONE: angry, *glares*]", "[REACT, TONE: angry, *glares*]", &[]),
        (r#"[TONE: nervous] "...""#, r#"[TONE: nervous] "...""#, &[]),
        (
            r#"[INTERRUPT after 'I can't do', TONE: sad] "No!""#,
            r#"[INTERRUPT after "I can't do", TONE: sad] "No!""#,
            &[],
        ),
        (r#"[INTERRUPT after “I want”, TONE: sad] “No!”"#, r#"[INTERRUPT after "I want", TONE: sad] "No!""#, &[]),
        (r#"[INTERRUPT: after I want to, TONE: sad] "No!""#, r#"[INTERRUPT after "I want to", TONE: sad] "No!""#, &[]),
        (r#"[INTERRUPT after "well, I..."] "No!""#, r#"[INTERRUPT after "well, I..."] "No!""#, &[]),
        (r#"[INTERRUPTING] "No!""#, r#"[INTERRUPT] "No!""#, &[]),
        (r#"[INTERRUPTS Bob after "I want"] "No!""#, r#"[INTERRUPT after "I want", TO: Bob] "No!""#, &[]),
        (r#"[INTERRUPT Bob, TONE: sad] "No!""#, r#"[INTERRUPT, TO: Bob, TONE: sad] "No!""#, &[]),
        (r#"[INTERRUPT after "I want", *stands*]"#, "[REACT, *stands*]", &["interruption_without_words"]),
        (
            r#"INTERRUPT after "I want", TONE: sad "No!""#,
            r#"[INTERRUPT after "I want", TONE: sad] "No!""#,
            &["no_bracket"],
        ),
    ]);
}

#[test]
fn objects_are_read_too() {
    check(&[
        (
            r#"{"action": "speak", "target": "bob", "tone": "angry", "content": "Why?", "nonverbal": "stands"}"#,
            r#"[TO: Bob, TONE: angry, *stands*] "Why?""#,
            &["object"],
        ),
        (
            "```json\n{'action': 'interrupt', 'interruptAfter': 'I want', 'content': 'No!', 'tone': 'sad'}\n```",
            r#"[INTERRUPT after "I want", TONE: sad] "No!""#,
            &["fence", "object"],
        ),
        (r#"{"action": "react", "content": "gasps"}"#, "[REACT, *gasps*]", &["object", "narration"]),
        (r#"{"action": "silent"}"#, "[SILENT]", &["object"]),
    ]);
}

#[test]
fn a_line_is_bounded() {
    let long = "word ".repeat(2_000);
    let (action, problems) = read(&format!("[TONE: sad] \"{long}\""), "Alice", &["Bob"]);
    assert_eq!(action.text.chars().count(), MAX_TEXT - 1);
    assert_eq!(problems, [Problem::TooLong]);
    let (action, problems) = read(&"字".repeat(5_000), "Alice", &["Bob"]);
    assert_eq!(action.text.chars().count(), MAX_TEXT);
    assert_eq!(problems, [Problem::TooLong, Problem::NoBracket, Problem::MissingQuotes]);
}

#[test]
fn problems_are_sentences_and_stored_by_name() {
    let problem = Problem::UnknownTarget { name: "Dora".into() };
    assert_eq!(problem.to_string(), "Nobody else here is called Dora.");
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(json, r#"{"type":"unknown_target","name":"Dora"}"#);
    assert_eq!(serde_json::from_str::<Problem>(&json).unwrap(), problem);
}
