//! What is wanted of a session that another process runs: a letter that is written here and taken up there.
//!
//! It is taken up once. Words carry a key, by which the journal knows them again; a decision that may have been taken
//! by an owner who is gone since is looked for in the journal before it is proposed again.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use polylogue_core::{
    Event, Input, Rejected,
    event::Origin,
    format::Decision,
    id::{PersonId, Seq, SessionId},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{Hub, HubError};
use crate::port::{Fate, JournalError, Letter, LetterId, Posted, Signal, Topic};

/// How long somebody waits for the answer to a letter.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often they look for it by themselves.
const LOOK: Duration = Duration::from_millis(100);

/// How long a letter is kept: longer than anybody waits for its answer.
const LIFETIME: Duration = Duration::from_secs(60);

/// How many letters are read at a time.
const MAX_AT_ONCE: usize = 256;

/// The letters that are being taken up here.
#[derive(Debug, Default)]
pub(super) struct InHand(Mutex<HashSet<LetterId>>);

impl InHand {
    fn lock(&self) -> MutexGuard<'_, HashSet<LetterId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in a letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    wish: Wish,
    /// The last record that the sender knew when it first wrote.
    after: Seq,
    /// Whether it has written before and does not know what became of it.
    is_again: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Wish {
    Say {
        who: PersonId,
        text: String,
        origin: Origin,
    },
    /// A decision, as the event that it is recorded as.
    Decide {
        event: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Answer {
    Taken,
    Rejected(Rejected),
    /// No session has heard it: it has ended, waits for a person, or was let go of.
    NotHere,
    /// The letter is from another version.
    NotUnderstood,
}

impl Wish {
    /// What can be written to another process: words and decisions. The rest is for sessions that run here.
    fn of(input: &Input) -> Option<Wish> {
        match input {
            Input::HumanSaid { who, text, origin } => {
                Some(Wish::Say { who: who.clone(), text: text.to_string(), origin: origin.clone() })
            }
            Input::Proposed { decision } => Some(Wish::Decide { event: Event::Decided(decision.clone()).encode() }),
            Input::Answered { .. }
            | Input::AskFailed { .. }
            | Input::ClipMade { .. }
            | Input::ClipFailed { .. }
            | Input::Absent(_)
            | Input::Narrated { .. }
            | Input::NotNarrated { .. }
            | Input::Reopened { .. }
            | Input::Halted { .. }
            | Input::ResumePressed { .. } => None,
        }
    }

    fn into_input(self) -> Option<Input> {
        match self {
            Wish::Say { who, text, origin } => Some(Input::HumanSaid { who, text: text.into(), origin }),
            Wish::Decide { event } => match Event::decode(&event) {
                Ok(Event::Decided(decision)) => Some(Input::Proposed { decision }),
                _ => None,
            },
        }
    }
}

impl Hub {
    /// Writes to the process that runs a session, and waits for what becomes of it. Nothing when no session has heard
    /// it: it may be told again, with `is_again`.
    pub(super) async fn write_to_owner(
        &self,
        session: SessionId,
        input: &Input,
        after: Seq,
        is_again: bool,
    ) -> Result<Option<Result<(), Rejected>>, HubError> {
        let Some(wish) = Wish::of(input) else { return Err(HubError::Elsewhere) };
        let content = serde_json::to_string(&Content { wish, after, is_again }).map_err(|_| HubError::Broken)?;
        let ports = &self.inner.ports;
        let id = LetterId::random();
        // The answer may be there before the post returns.
        let mut answered = ports.signals.listen(Topic::Letter(id));
        let Some(owner) = ports.letters.post(Letter { id, session, content: content.into() }, LIFETIME).await? else {
            return Ok(None);
        };
        ports.signals.send(&Topic::Node(owner), Signal::Look);
        let posted = Instant::now();
        while posted.elapsed() < PATIENCE {
            tokio::select! {
                biased;
                _ = answered.next() => {}
                () = sleep(LOOK) => {}
            }
            let answer = match ports.letters.fate(id).await {
                Ok(Fate::Answered(answer)) => answer,
                Ok(Fate::Unanswered) => continue,
                Ok(Fate::Gone) => break,
                // The letter is kept; the store may be back in a moment.
                Err(JournalError::Unavailable(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            self.discard(id).await;
            return match serde_json::from_str(&answer) {
                Ok(Answer::Taken) => Ok(Some(Ok(()))),
                Ok(Answer::Rejected(rejected)) => Ok(Some(Err(rejected))),
                Ok(Answer::NotHere) => {
                    // The owner needs a moment to give the session up, or to take it up again.
                    sleep(LOOK).await;
                    Ok(None)
                }
                Ok(Answer::NotUnderstood) | Err(_) => Err(HubError::Elsewhere),
            };
        }
        self.discard(id).await;
        Err(HubError::Unheard)
    }

    /// Removes a letter that nobody waits for any more. Where that cannot be done it goes when its time is up.
    async fn discard(&self, letter: LetterId) {
        if let Err(error) = self.inner.ports.letters.withdraw(letter).await {
            tracing::debug!(%letter, %error, "a letter is removed later");
        }
    }

    /// Whether the session has recorded this decision after that place.
    pub(super) async fn has_decided(
        &self,
        session: SessionId,
        after: Seq,
        decision: &Decision,
    ) -> Result<bool, HubError> {
        let records = self.records_after(session, after).await?;
        Ok(records.iter().any(|record| matches!(&record.event, Event::Decided(decided) if decided == decision)))
    }

    /// Takes up what others want of the sessions here. It is done beside whatever else goes on.
    pub(super) async fn take_up_letters(&self) -> Result<(), JournalError> {
        let inner = &self.inner;
        for posted in inner.ports.letters.letters(inner.node, MAX_AT_ONCE).await? {
            let id = posted.letter.id;
            if inner.in_hand.lock().insert(id) {
                let hub = self.clone();
                tokio::spawn(async move {
                    let answer = hub.take_up(posted).await;
                    hub.answer(id, &answer).await;
                    hub.inner.in_hand.lock().remove(&id);
                });
            }
        }
        Ok(())
    }

    async fn take_up(&self, posted: Posted) -> Answer {
        let Posted { letter: Letter { session, content, .. }, to } = posted;
        let Ok(Content { wish, after, is_again }) = serde_json::from_str(&content) else {
            return Answer::NotUnderstood;
        };
        let Some(input) = wish.into_input() else { return Answer::NotUnderstood };
        // The node that it was written to may have taken it up before it was gone.
        if (is_again || to != self.inner.node)
            && let Input::Proposed { decision } = &input
        {
            match self.has_decided(session, after, decision).await {
                Ok(true) => return Answer::Taken,
                Ok(false) => {}
                Err(_) => return Answer::NotHere,
            }
        }
        match self.tell(session, &input).await {
            Some(Ok(())) => Answer::Taken,
            Some(Err(rejected)) => Answer::Rejected(rejected),
            None => Answer::NotHere,
        }
    }

    /// Answers a letter, and tries again where the store is in trouble: else it would be taken up once more.
    async fn answer(&self, letter: LetterId, answer: &Answer) {
        let ports = &self.inner.ports;
        let Ok(answer) = serde_json::to_string(answer) else { return };
        let began = Instant::now();
        while let Err(error) = ports.letters.answer(letter, &answer).await {
            tracing::debug!(%letter, %error, "a letter cannot be answered");
            if began.elapsed() >= LIFETIME {
                return;
            }
            sleep(LOOK).await;
        }
        ports.signals.send(&Topic::Letter(letter), Signal::Look);
    }
}
