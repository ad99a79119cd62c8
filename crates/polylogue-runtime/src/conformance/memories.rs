//! What agents remember, and what they have forgotten.

use std::{collections::BTreeMap, sync::Arc};

use polylogue_core::{
    Event, Record, Setup,
    format::scene::{self, Decision},
    id::{Seq, SessionId},
    memory,
    setup::FormatSetup,
};

use super::example::{NODE, ended, forked, id, records, resumed, said, started};
use crate::port::Store;

/// The start of a scene of a story.
pub fn scene(session: SessionId, story: Option<&str>, name: &str) -> Event {
    let Event::Started { version, setup } = started(session, "goal") else { unreachable!("it is a start") };
    let settings = scene::Settings {
        name: name.into(),
        prompt: "They meet.".into(),
        goal: None,
        setting: None,
        language: None,
        initial_speaker: None,
        max_beats: scene::Settings::DEFAULT_BEATS,
        agent_mode: scene::AgentMode::default(),
        events: scene::WorldEvents::default(),
        story: story.map(Into::into),
        memory: true,
        names: BTreeMap::new(),
        narrator: None,
        memories: BTreeMap::new(),
    };
    let setup = Setup { format: FormatSetup::new(settings), ..Setup::clone(&setup) };
    Event::Started { version, setup: Arc::new(setup) }
}

/// A character puts something down.
pub fn remembers(character: &str, text: &str) -> Event {
    let character = character.parse().expect("a name");
    Event::decision(Decision::Remembered { character, text: text.into() })
}

/// What an agent remembers, as session, place and text.
async fn remembered(
    journal: &dyn Store,
    who: &str,
    story: Option<&str>,
    limit: usize,
) -> Vec<(SessionId, Seq, String)> {
    let found = journal.memories(&who.parse().expect("a name"), story, limit).await.expect("memories");
    found.into_iter().map(|memory| (memory.session, memory.seq, memory.text.to_string())).collect()
}

async fn texts(journal: &dyn Store, who: &str, story: Option<&str>) -> Vec<String> {
    remembered(journal, who, story, usize::MAX).await.into_iter().map(|(_, _, text)| text).collect()
}

/// Three scenes of two stories, one of none, and a fork of the first that goes its own way.
async fn tell(journal: &dyn Store) -> Vec<Arc<Record>> {
    let first = [scene(id(1), Some("été"), "one"), said("a"), remembers("Zoë 🎭", "first"), remembers("gpt", "other")];
    let first = records(0, 300, first);
    journal.append(id(1), first.clone(), NODE).await.expect("a scene at once");
    for (n, at, story, text) in
        [(2, 100, Some("été"), "earlier"), (3, 200, Some("winter"), "cold"), (4, 400, None, "-")]
    {
        journal.append(id(n), records(0, at, [scene(id(n), story, "two"), said("b")]), NODE).await.expect("a start");
        journal
            .append(id(n), records(2, at + 50, [remembers("Zoë 🎭", text), resumed()]), NODE)
            .await
            .expect("more of it");
    }
    let mut copy = records(0, 300, [scene(id(5), Some("été"), "one")]);
    copy.extend(first[1..].iter().cloned());
    copy.extend(records(4, 500, [forked(id(1), 4)]));
    journal.append(id(5), copy, NODE).await.expect("a fork");
    journal.append(id(5), records(5, 600, [remembers("gpt", "otherwise")]), NODE).await.expect("more of it");
    first
}

pub(super) async fn follow_the_journals(journal: &dyn Store) {
    let first = tell(journal).await;
    for (who, story, limit, expected) in [
        ("Zoë 🎭", Some("été"), 9, vec![(2, 3, "earlier"), (1, 3, "first")]),
        ("Zoë 🎭", Some("été"), 1, vec![(1, 3, "first")]),
        ("Zoë 🎭", Some("winter"), 9, vec![(3, 3, "cold")]),
        ("Zoë 🎭", None, usize::MAX, vec![(2, 3, "earlier"), (3, 3, "cold"), (1, 3, "first")]),
        ("gpt", Some("été"), 9, vec![(1, 4, "other"), (5, 6, "otherwise")]),
        ("gpt", Some("été"), 0, vec![]),
        ("gpt", Some("Été"), 9, vec![]),
        ("nobody", None, 9, vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(n, seq, text)| (id(n), Seq(seq), text.to_owned())).collect();
        assert_eq!(remembered(journal, who, story, limit).await, expected, "{who} of {story:?}, at most {limit}");
    }
    let zoe = "Zoë 🎭".parse().expect("a name");
    let whole = journal.memories(&zoe, Some("été"), 9).await.expect("memories").pop();
    assert_eq!(whole.as_ref(), memory::memories(&first).first(), "all of it is as the journal has it");
}

pub(super) async fn are_forgotten_for_good(journal: &dyn Store) {
    tell(journal).await;
    journal.forget(Vec::new()).await.expect("nothing can always be forgotten");
    let others = vec![(id(1), Seq(2)), (id(1), Seq(99)), (id(99), Seq(1)), (id(3), Seq(u64::MAX))];
    journal.forget(others).await.expect("what is no memory means nothing");
    assert_eq!(texts(journal, "Zoë 🎭", None).await, ["earlier", "cold", "first"]);
    for _ in 0..2 {
        journal.forget(vec![(id(2), Seq(3)), (id(3), Seq(3))]).await.expect("forgotten");
        assert_eq!(texts(journal, "Zoë 🎭", None).await, ["first"]);
    }
    assert_eq!(texts(journal, "gpt", None).await, ["other", "otherwise"], "another's memory is another's");
    // The journal goes on, and what was forgotten does not come back with it.
    let more = [remembers("Zoë 🎭", "again"), ended(scene::reason::NATURAL_END)];
    journal.append(id(2), records(4, 700, more), NODE).await.expect("it follows");
    assert_eq!(texts(journal, "Zoë 🎭", None).await, ["first", "again"]);
    let kept = journal.read_all(id(2)).await.expect("the journal");
    assert!(kept.iter().any(|record| record.event == remembers("Zoë 🎭", "earlier")), "the journal is as it was");
    // With a session its memories go; what a fork brought along was the other's.
    assert_eq!(journal.delete(id(1)).await, Ok(true));
    assert_eq!(texts(journal, "Zoë 🎭", None).await, ["again"]);
    assert_eq!(texts(journal, "gpt", None).await, ["otherwise"]);
}
