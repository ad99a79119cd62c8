//! What is wrong with a score, as `scores check` says it.

use super::folder;

/// A trial in which every expression is wrong somewhere. Some of it no play would come by.
const WRONG: &str = r#"score: trial
roles:
  prosecution: { seats: 1, persona: "You speak for {{ citty }}." }
  jury: { seats: 2..3 }
settings: { city: Rome }
phases:
  - plead:
      who: prosecution
      prompt: |
        {% if round > 7 %}
        {{ me.nmae }}, plead before {{ seats.jurry | join(', ') }}.
        {% endif %}
  - verdict:
      who: { role: jury, if: "{{ me.numbr == 1 }}" }
      sees: { phase: plead, where: "{{ line.txt }}" }
      reply: { guilty: yes_no, because: text }
      line: "{{ 'Guilty' if reply.guilty else reply.becuase }}"
      prompt: "{{ plead.text }}, {{ plead[0].reply.guilty }}"
  - repeat:
      at_most: 2
      until: "{{ verdict | all('gilty') }}"
      phases:
        - appeal:
            who: { pick: { by: prosecution, from: jury, prompt: "{{ candidate | join(', ') }}?" } }
            prompt: "{% for row in verdict | tally('guilty') %}{{ row.votes }}{% endfor %}{{ round }}"
result:
  guilty: "{{ (verdict | tally('guilty') | first).valeu }}"
  mean: "{{ verdict | avg('guilty') }}"
  worst: "{{ verdict | map(attribute='reply.severity') | max }}"
"#;

#[test]
fn every_name_that_is_not_there_is_found_at_once() {
    let folder = folder(&["gpt"], "  []\n", &[("trial", WRONG)]);
    let checked = folder.output(&["scores", "check", "trial"]);
    assert_eq!(checked.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8(checked.stdout).unwrap());
    // What is wrong is said before anybody is asked, and the session is not begun.
    let played = folder.run(&["play", "trial", "Ada."]);
    assert_eq!((played.status, played.lines.len()), (2, 1), "{:?}", played.lines);
    assert_eq!(played.lines[0]["error"]["code"], "INVALID_CONFIG");
    assert_eq!(folder.run(&["sessions", "list"]).lines.len(), 0);
}

const BLIND: &str = r#"score: masked
roles:
  member: { seats: 2..3, default: gpt, persona: "You sit with {{ seats.member | join(', ') }}." }
phases:
  - answer:
      who: member
      sees: message
      reply: { words: text }
      line: "To {{ seats.member[0] }}: {{ reply.words }}"
  - weigh:
      who: member
      sees: answer
      blind: true
      prompt: "{{ seats.member[0] }}, {{ answer[0].role }}"
"#;

#[test]
fn nothing_that_would_tell_names_in_a_blind_phase_can_be_played() {
    let folder = folder(&["gpt"], "  []\n", &[("masked", BLIND)]);
    let checked = folder.output(&["scores", "check", "masked"]);
    insta::assert_snapshot!(String::from_utf8(checked.stdout).unwrap());
}

/// A persona is a template, as a prompt is.
#[test]
fn a_persona_knows_who_has_the_seats_and_what_is_set() {
    let persona = "You are {{ me.name }}, number {{ me.number }}; {{ seats.host[0] }} leads, about {{ topic }}.";
    let score = format!(
        "score: table\nroles:\n  host: {{ seats: 1, default: gpt }}\n  guest: {{ seats: 2, default: [gpt, claude], \
         persona: \"{persona}\" }}\nsettings: {{ topic: bread }}\nphases:\n  - talk:\n      who: guest\n      prompt: Speak.\n"
    );
    let folder = folder(&["gpt", "claude"], "  - {reply: Well.}\n", &[("table", &score)]);
    let play = folder.run(&["play", "table", "Go.", "--set", "topic=salt"]);
    assert_eq!(play.status, 0, "{:?}", play.lines);
    let seq =
        play.result()["lines"].as_array().unwrap().iter().find(|line| line["speaker"] == "claude").unwrap()["seq"]
            .to_string();
    let request = folder.run(&["sessions", "show", "last", "--at", &seq]);
    let system = request.lines[0]["system"].to_string();
    assert!(system.contains("You are claude, number 2; host leads, about salt."), "{system}");
}

/// What `scores new` writes can be checked and played at once.
#[test]
fn a_new_score_plays_at_once() {
    let folder = folder(&["gpt", "claude"], "  - {reply: Well.}\n", &[]);
    let new = folder.output(&["scores", "new", "tea-party"]);
    let said = String::from_utf8(new.stdout).unwrap();
    assert!(said.contains("scores/tea-party.yaml") && said.contains("polylogue play tea-party"), "{said}");
    let checked = folder.output(&["scores", "check", "tea-party"]);
    assert_eq!(String::from_utf8(checked.stdout).unwrap(), "tea-party: can be played\n");
    let play = folder.run(&["play", "tea-party", "Tea or coffee?"]);
    assert_eq!((play.status, play.reason()), (0, "completed"), "{}", play.stderr);
    assert_eq!(folder.output(&["scores", "new", "tea-party"]).status.code(), Some(2), "it is not written over");
}
