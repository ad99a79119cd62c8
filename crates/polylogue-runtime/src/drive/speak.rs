//! What is spoken: the lines, and what a narrator reads.

use std::{future::pending, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use polylogue_core::{
    Input, NARRATOR,
    id::{LineId, Seq},
    line::{Clip, Speaker},
};

use super::{Drive, broken::or_broken};
use crate::{
    port::{Budget, Speech},
    purse::Purse,
};

impl Drive {
    /// Makes the clip of a line.
    pub(super) fn speak(&self, id: LineId, purse: &Purse) -> BoxFuture<'static, Input> {
        let stage = self.conversation.stage();
        let Some(line) = stage.transcript().get(id).cloned() else { return pending().boxed() };
        let agents = stage.cast().agents();
        let seat = agents.iter().position(|agent| line.speaker == Speaker::Agent(agent.name.clone()));
        let profile = line.voice.clone().or_else(|| agents[seat?].voice.clone());
        let tone = line.delivery.tone.clone();
        let (seat, place) = (seat.unwrap_or_default(), self.conversation.clip_place(&line));
        let budget = self.budget(purse);
        let LineId(number) = id;
        let speech = Speech {
            session: stage.setup().id,
            language: stage.language_of(&line.text),
            text: line.text,
            by: line.speaker.name().into(),
            mark: format!("line-{number:04}"),
            profile,
            seat,
            tone,
            place,
            budget,
        };
        self.clip(speech, move |made| match made {
            Ok(clip) => Input::ClipMade { line: id, clip },
            Err(error) => Input::ClipFailed { line: id, error },
        })
    }

    /// Has the narrator read what a record tells.
    pub(super) fn narrate(&self, of: Seq, purse: &Purse) -> BoxFuture<'static, Input> {
        let stage = self.conversation.stage();
        let Some(narration) = stage.narration(of) else { return pending().boxed() };
        let mark = format!("record-{:04}", of.0);
        let speech = Speech {
            session: stage.setup().id,
            text: narration.text.clone(),
            by: NARRATOR.into(),
            profile: stage.setup().format.narrator().map(Arc::from),
            // Behind everybody who takes part.
            seat: stage.cast().agents().len(),
            tone: None,
            language: stage.language_of(&narration.text),
            place: vec!["narrator".to_owned(), mark.clone()],
            mark,
            budget: self.budget(purse),
        };
        self.clip(speech, move |made| match made {
            Ok(clip) => Input::Narrated { of, clip },
            Err(error) => Input::NotNarrated { of, error },
        })
    }

    /// What a clip may cost now.
    fn budget(&self, purse: &Purse) -> Budget {
        let budget = purse.budget(self.conversation.stage().kept_for_text());
        let spending = self.owner.spending.clone();
        Budget::new(move |cost| !spending.is_spent_with(cost) && budget.allows(cost))
    }

    /// Makes a clip, and says what came of it.
    fn clip(
        &self,
        speech: Speech,
        input: impl Fn(Result<Clip, String>) -> Input + Send + Sync + Clone + 'static,
    ) -> BoxFuture<'static, Input> {
        let (voice, tenure) = (self.ports.voice.clone(), self.owner.tenure.clone());
        let came = input.clone();
        let work = async move {
            tenure.certain(|| {}).await;
            came(voice.speak(&speech).await.map_err(|error| error.to_string()))
        };
        let broken =
            move || input(Err("the speech engine broke inside, which is a bug: the log says where".to_owned()));
        or_broken(work, broken).boxed()
    }
}
