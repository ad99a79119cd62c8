//! What docs/scores.md says that filters give is what they give.

use polylogue_core::format::score::Settings;
use serde_json::{Value, json};

use crate::{
    score::{score, setup},
    support::Play,
};

/// The rows of the table of votes: an expression, and what it gives.
fn rows() -> Vec<(String, Value)> {
    let docs = include_str!("../../../../docs/scores.md");
    let (_, votes) = docs.split_once("\n### Votes\n").unwrap();
    let votes = votes.split("\n### ").next().unwrap().replace("\\|", "\u{1}");
    let cell = |cell: &str| cell.trim().trim_matches('`').replace('\u{1}', "|");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(cell);
        let (expression, gives) = (cells.next()?, cells.next()?);
        Some((expression, serde_json::from_str(&gives).unwrap_or_else(|error| panic!("{error}: {gives}"))))
    };
    votes.lines().filter_map(row).collect()
}

#[test]
fn filters_give_what_the_docs_say() {
    let rows = rows();
    assert!(rows.len() > 10, "{rows:?}");
    let phase = json!({"vote": {"who": "jury", "reply": {
        "verdict": ["guilty", "not guilty"], "agree": "yes_no", "much": "0..100", "ranking": {"order": "jury"},
    }}});
    let results: serde_json::Map<String, Value> =
        rows.iter().enumerate().map(|(nth, (expression, _))| (format!("r{nth}"), expression.as_str().into())).collect();
    let text = json!({"score": "votes", "roles": {"jury": {"seats": 3}}, "phases": [phase], "result": results});
    let play = Play::start(setup(score(&text.to_string()), &[("jury", &["ann", "ben", "cem"])])).unwrap();
    // What the docs say that they have replied.
    let docs = include_str!("../../../../docs/scores.md");
    let play = play.run(|ask| {
        let said = docs.lines().find_map(|line| line.strip_prefix(&format!("{}: {{verdict: ", ask.id.agent)));
        let (verdict, rest) = said.unwrap().split_once(", agree: ").unwrap();
        let (agree, rest) = rest.split_once(", much: ").unwrap();
        let (much, ranking) = rest.split_once(", ranking: [").unwrap();
        let ranking: Vec<&str> = ranking.trim_end_matches("]}").split(", ").collect();
        format!("{{\"verdict\": \"{verdict}\", \"agree\": {agree}, \"much\": {much}, \"ranking\": {}}}", json!(ranking))
    });
    let setup = play.conversation.stage().setup();
    assert!(setup.format.settings::<Settings>().is_some());
    let results = setup.format.results(&play.conversation);
    for (nth, (expression, gives)) in rows.iter().enumerate() {
        let same = match (&results[&format!("r{nth}")], gives) {
            (Value::Number(came), Value::Number(gives)) => came.as_f64() == gives.as_f64(),
            (came, gives) => came == gives,
        };
        assert!(same, "{expression}: {} and not {gives}", results[&format!("r{nth}")]);
    }
}
