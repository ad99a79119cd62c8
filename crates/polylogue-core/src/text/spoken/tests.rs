//! What is spoken of a line, case by case.

use proptest::prelude::*;

use super::spoken;

#[test]
fn only_the_words_are_spoken() {
    let cases = [
        ("Hello there.", "Hello there."),
        // The scene's bracket form.
        (r#"[TO: Bob, TONE: frustrated] "I can't believe it!""#, "I can't believe it!"),
        (
            r#"[TO: Alice, TONE: apologetic, *looks down at hands*] "You're right. I messed up.""#,
            "You're right. I messed up.",
        ),
        (r#"[INTERRUPT after "I want to", TONE: angry] "No! You don't get to!""#, "No! You don't get to!"),
        ("[SILENT, *shifts uncomfortably in chair*]", ""),
        ("[EVENT: Thunder crashes] Run!", "Run!"),
        // Stage directions are acts, emphasis is words.
        ("*sighs* I know.", "I know."),
        ("I know. *looks away* But I can't.", "I know. But I can't."),
        ("Well, *laughs* I tried.", "Well, I tried."),
        ("I *really* mean it.", "I really mean it."),
        ("*Really* good work.", "Really good work."),
        ("It was **very** late, ***very*** late.", "It was very late, very late."),
        ("(sighs softly) Fine.", "Fine."),
        ("It took long (about an hour) to say.", "It took long (about an hour) to say."),
        ("*bows*", ""),
        // Markdown.
        ("# Homes\n\nA home is a place.", "Homes. A home is a place."),
        ("Three things:\n- bread\n- salt\n- time", "Three things: bread. salt. time"),
        ("1. First\n2. Second", "1. First 2. Second"),
        ("> quoted words\n> go on", "quoted words. go on"),
        ("Use `cargo test` now.", "Use cargo test now."),
        ("Look:\n```rust\nfn main() {}\n```\nThat is all.", "Look: That is all."),
        ("| name | age |\n|---|---|\n| Ann | 7 |", "name, age. Ann, 7"),
        ("one\n---\ntwo", "one. two"),
        ("~~old~~ new", "old new"),
        ("a snake_case name and _stress_", "a snake case name and stress"),
        ("bold<br/>and <b>tags</b>, 3 < 4", "boldand tags, 3 4"),
        // Links keep their words, addresses are not read out.
        ("See [the guide](https://example.com/a_(b)) first.", "See the guide first."),
        ("See ![a cat](cat.png) here [1].", "See here."),
        ("Read https://example.com/x?y=1, then come.", "Read, then come."),
        ("www.example.com.", ""),
        // Faces.
        ("Great 😀👍🏽 work!", "Great work!"),
        ("Great :smile: work :-) at 10:30:45.", "Great work at 10:30:45."),
        ("I <3 you", "I you"),
        // Quotation marks around everything go, those within stay.
        ("“Come in.”", "Come in."),
        (r#"He said "no" twice."#, r#"He said "no" twice."#),
        ("Wait—what?", "Wait—what?"),
        ("Grüße aus Łódź, 你好!", "Grüße aus Łódź, 你好!"),
        ("", ""),
        ("...", ""),
        ("unclosed [bracket and *star", "unclosed bracket and star"),
    ];
    for (text, expected) in cases {
        assert_eq!(spoken(text), expected, "of {text:?}");
    }
}

#[test]
fn marks_that_never_close_cost_no_more_than_their_length() {
    for mark in ["[", "(", "<a", "*a ", "![", "`", "_a"] {
        spoken(&mark.repeat(super::MAX_CHARS / 4));
    }
}

proptest! {
    #[test]
    fn no_mark_is_ever_spoken(text in r#"([a-zA-Zé ]|[\[\]*_`~#>|()<:!."\n-]| https://|😀){0,80}"#) {
        let said = spoken(&text);
        prop_assert!(!said.contains(['[', ']', '*', '`', '~', '😀', '\n']), "{said:?} of {text:?}");
        prop_assert!(!said.contains("http"), "{said:?} of {text:?}");
        prop_assert!(said.is_empty() || said.chars().any(char::is_alphanumeric));
    }

    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        spoken(&text);
    }
}
