//! A format that breaks where a test wants it to.

use polylogue_core::{
    Event, Reason, Record, Rejected, Stage,
    ask::{Request, Thread},
    format::{Described, Format, Happened, NoDecision, Place, Reaction, Rules, Vocabulary, Wants},
    id::{AskId, PersonId, Purpose},
    setup::{BadSetup, Cast, Sampling},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) enum Breaks {
    Nowhere,
    OnAnswers,
    /// On answers, and on being told that they failed.
    OnEverything,
    InWants,
    /// When the answer is applied.
    InApply,
    /// As soon as its journal is read.
    InFold,
}

/// Asks one agent once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct Fragile {
    pub(crate) breaks: Breaks,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FragileRules {
    breaks: Breaks,
    is_over: bool,
}

const ASK: Purpose = Purpose::new("contribute");

impl Described for Fragile {
    fn title(&self) -> &str {
        "fragile"
    }

    fn check(&self, _: &Cast) -> Result<(), BadSetup> {
        Ok(())
    }
}

impl Format for Fragile {
    const NAME: &'static str = "fragile";
    const VOCABULARY: Vocabulary = Vocabulary { purposes: &[ASK], kinds: &[], reasons: &[] };
    const TEMPLATES: &'static [(&'static str, &'static str)] = &[];
    type Decision = NoDecision;
    type Rules = FragileRules;

    fn rules(&self, _: &mut Stage, _: &Record) -> FragileRules {
        assert!(self.breaks != Breaks::InFold, "a bug in a format");
        FragileRules { breaks: self.breaks, is_over: false }
    }
}

impl Rules for FragileRules {
    fn wants(&self, stage: &Stage) -> Wants {
        assert!(self.breaks != Breaks::InWants, "a bug in a format");
        let agent = stage.cast().agents()[0].name.clone();
        if self.is_over {
            Wants::End(Reason::COMPLETED)
        } else {
            Wants::asks(vec![Place { purpose: ASK, turn: 1, agent }])
        }
    }

    fn request(&self, stage: &Stage, _: &AskId) -> Request {
        Request {
            model: stage.cast().agents()[0].model.clone(),
            system: "".into(),
            thread: Thread::default(),
            prompt: "Go.".into(),
            shape: None,
            grammar: None,
            plan: None,
            sampling: Sampling::default(),
        }
    }

    fn on(&self, _: &Stage, happened: Happened<'_>) -> Result<Reaction, Rejected> {
        let is_answer = matches!(happened, Happened::Answered { .. });
        let breaks = match self.breaks {
            Breaks::OnAnswers => is_answer,
            Breaks::OnEverything => true,
            _ => false,
        };
        assert!(!breaks, "a bug in a format");
        Ok(Reaction::default())
    }

    fn apply(&mut self, _: &mut Stage, record: &Record) {
        let is_answer = matches!(record.event, Event::Answered { .. });
        assert!(!(is_answer && self.breaks == Breaks::InApply), "a bug in a format");
        self.is_over |= is_answer || matches!(record.event, Event::AskFailed { .. });
    }

    fn try_templates(&self, _: &Stage) -> Result<(), BadSetup> {
        Ok(())
    }

    fn may_speak(&self, _: &Stage, _: &PersonId) -> Result<(), Rejected> {
        Ok(())
    }

    fn counter(&self, _: &AskId) -> String {
        String::new()
    }
}
