//! The steps that are being performed.

use std::{collections::BTreeMap, future::pending};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use polylogue_core::{
    Cut, Input, Step,
    id::{AskId, LineId, Seq},
};

use crate::purse::{Purse, Tab};

/// What is being done, by its place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doing {
    Ask(AskId),
    Speak(LineId),
    Narrate(Seq),
}

impl Doing {
    fn of(step: &Step) -> Option<Doing> {
        match step {
            Step::Ask(ask) => Some(Doing::Ask(ask.id.clone())),
            Step::Speak(line) => Some(Doing::Speak(*line)),
            Step::Narrate(of) => Some(Doing::Narrate(*of)),
            Step::AwaitHuman(_) | Step::End(_) => None,
        }
    }
}

/// The steps under way. Dropping it drops them.
#[derive(Default)]
pub(super) struct UnderWay {
    futures: FuturesUnordered<BoxFuture<'static, (Doing, Input)>>,
    tabs: BTreeMap<Doing, Option<Tab>>,
    pub(super) purse: Purse,
}

impl UnderWay {
    pub(super) fn contains(&self, step: &Step) -> bool {
        !self.tabs.is_empty() && Doing::of(step).is_some_and(|doing| self.tabs.contains_key(&doing))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    pub(super) fn add(&mut self, doing: Doing, work: BoxFuture<'static, Input>, tab: Option<Tab>) {
        self.tabs.insert(doing.clone(), tab);
        self.futures.push(async move { (doing, work.await) }.boxed());
    }

    /// The next one that is done; waits for ever when there is none.
    pub(super) async fn next(&mut self) -> Input {
        match self.futures.next().await {
            Some((doing, input)) => {
                self.tabs.remove(&doing);
                input
            }
            None => pending().await,
        }
    }

    /// Drops everything at once, and tells what had arrived.
    pub(super) fn drop_all(&mut self) -> Vec<Cut> {
        self.futures.clear();
        let cut = std::mem::take(&mut self.tabs).into_iter().filter_map(|(doing, tab)| match (doing, tab) {
            (Doing::Ask(ask), Some(tab)) => Some(tab.cut(ask)),
            (Doing::Ask(_) | Doing::Speak(_) | Doing::Narrate(_), _) => None,
        });
        cut.collect()
    }
}
