//! What this process did, in numbers for Prometheus. It counts where things happen anyway, at the ports of models and
//! of the journal, and nothing else knows of it. Labels come from the configuration and from closed sets, so that the
//! numbers cannot grow for ever.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use polylogue_core::{
    Event, Record,
    event::FailureKind,
    id::{Seq, SessionId},
    ledger::Usage,
    projection::Status,
    setup::ModelRef,
};
use polylogue_providers::Prices;
use polylogue_runtime::{
    Listener,
    port::{Admission, Bound, Call, CallError, Journal, JournalError, Model, NodeId, Reply, Search, Summary},
};

/// Providers that are told apart; those beyond are `other`.
const MOST_PROVIDERS: usize = 32;

/// The bounds of calls, in seconds.
const CALLS: &[f64] = &[0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 120.0, 240.0];

/// The bounds of appends, in seconds.
const APPENDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The most sessions of a state that are counted.
const MOST_SESSIONS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Meter {
    numbers: Mutex<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    providers: BTreeMap<String, Provider>,
    appends: Histogram,
    failed_appends: u64,
    clips: u64,
    failed_clips: u64,
    ended: BTreeMap<String, u64>,
}

/// What one provider was asked and what came of it.
#[derive(Debug, Default)]
struct Provider {
    calls: Histogram,
    retries: u64,
    failures: BTreeMap<&'static str, u64>,
    usage: Usage,
    usd: f64,
}

/// How long things took, counted by bounds.
#[derive(Debug, Default)]
struct Histogram {
    /// How many were within each bound and above the one before.
    within: Vec<u64>,
    count: u64,
    seconds: f64,
}

impl Histogram {
    fn add(&mut self, took: Duration, bounds: &[f64]) {
        let seconds = took.as_secs_f64();
        self.within.resize(bounds.len(), 0);
        if let Some(place) = bounds.iter().position(|bound| seconds <= *bound) {
            self.within[place] += 1;
        }
        self.count += 1;
        self.seconds += seconds;
    }

    fn write(&self, page: &mut Page, name: &str, label: &str, bounds: &[f64]) {
        let mut sum = 0;
        let more = if label.is_empty() { String::new() } else { format!("{label},") };
        for (bound, within) in bounds.iter().zip(self.within.iter().chain(std::iter::repeat(&0))) {
            sum += within;
            page.line(&format!("{name}_bucket"), &format!("{more}le=\"{bound}\""), sum);
        }
        page.line(&format!("{name}_bucket"), &format!("{more}le=\"+Inf\""), self.count);
        page.line(&format!("{name}_sum"), label, self.seconds);
        page.line(&format!("{name}_count"), label, self.count);
    }
}

/// Numbers in Prometheus' text form.
#[derive(Default)]
struct Page(String);

impl Page {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, label: &str, value: impl std::fmt::Display) {
        let labels = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

impl Meter {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, with how many sessions there are of each state that is not over.
    pub(crate) async fn page(&self, journal: &dyn Journal) -> String {
        let mut page = Page::default();
        let name = "polylogue_sessions";
        page.about(name, "gauge", "Sessions of the store that are not over, at most 1000 of a state.");
        for (status, state) in [(Status::Running, "running"), (Status::Waiting, "waiting"), (Status::Left, "left")] {
            let search = Search { status: Some(status), limit: MOST_SESSIONS, ..Search::default() };
            // What cannot be read now is not told.
            if let Ok(found) = journal.search(&search).await {
                page.line(name, &format!("state=\"{state}\""), found.len());
            }
        }
        self.numbers().write(&mut page);
        page.0
    }

    fn answered(&self, call: &Call, took: Duration, outcome: Result<&Reply, &'static str>, prices: &Prices) {
        let model = &call.ask.request.model;
        let mut numbers = self.numbers();
        let provider = numbers.provider(&model.provider);
        provider.calls.add(took, CALLS);
        provider.retries += u64::from(call.retry > 0);
        match outcome {
            Err(kind) => *provider.failures.entry(kind).or_default() += 1,
            Ok(reply) => {
                let Some(usage) = reply.usage else { return };
                provider.usage += usage;
                provider.usd += prices.of(model).map_or(0.0, |price| price.of(&usage).usd());
            }
        }
    }
}

impl Numbers {
    fn provider(&mut self, name: &str) -> &mut Provider {
        let is_known = self.providers.contains_key(name) || self.providers.len() < MOST_PROVIDERS;
        self.providers.entry(if is_known { name } else { "other" }.to_owned()).or_default()
    }

    fn write(&self, page: &mut Page) {
        let name = "polylogue_sessions_ended_total";
        page.about(name, "counter", "Sessions that ended here, by reason.");
        self.ended.iter().for_each(|(reason, count)| page.line(name, &label("reason", reason), count));
        let name = "polylogue_clips_total";
        page.about(name, "counter", "Clips that were to be made, by what became of them.");
        page.line(name, "outcome=\"made\"", self.clips);
        page.line(name, "outcome=\"failed\"", self.failed_clips);
        let name = "polylogue_append_seconds";
        page.about(name, "histogram", "Time until an append was on disk.");
        self.appends.write(page, name, "", APPENDS);
        let name = "polylogue_append_failures_total";
        page.about(name, "counter", "Appends that were refused or failed.");
        page.line(name, "", self.failed_appends);
        let of = |provider: &str| label("provider", provider);
        let name = "polylogue_call_seconds";
        page.about(name, "histogram", "How long calls of models took, every try for itself.");
        self.providers.iter().for_each(|(at, provider)| provider.calls.write(page, name, &of(at), CALLS));
        let name = "polylogue_call_retries_total";
        page.about(name, "counter", "Calls that were not an ask's first.");
        self.providers.iter().for_each(|(at, provider)| page.line(name, &of(at), provider.retries));
        let name = "polylogue_call_failures_total";
        page.about(name, "counter", "Calls that brought no reply; one that was dropped met a limit or a stop.");
        for (at, provider) in &self.providers {
            for (kind, count) in &provider.failures {
                page.line(name, &format!("{},kind=\"{kind}\"", of(at)), count);
            }
        }
        let name = "polylogue_tokens_total";
        page.about(name, "counter", "Tokens of replies, as the providers tell them.");
        for (at, provider) in &self.providers {
            let usage = &provider.usage;
            for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)] {
                page.line(name, &format!("{},kind=\"{kind}\"", of(at)), count);
            }
        }
        let name = "polylogue_usd_total";
        page.about(name, "counter", "What those tokens cost, where the price is known.");
        self.providers.iter().for_each(|(at, provider)| page.line(name, &of(at), provider.usd));
    }
}

/// A label with its value, which somebody may have made up.
fn label(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", value.replace(['"', '\\', '\n'], "_"))
}

/// Counts the events that it hears.
#[async_trait]
impl Listener for Meter {
    async fn heard(&self, _: SessionId, records: &[Arc<Record>]) {
        let mut numbers = self.numbers();
        for record in records {
            match &record.event {
                Event::ClipMade { .. } | Event::Narrated { .. } => numbers.clips += 1,
                Event::ClipFailed { .. } | Event::NarrationFailed { .. } => numbers.failed_clips += 1,
                Event::Ended { reason, .. } => *numbers.ended.entry(reason.to_string()).or_default() += 1,
                _ => {}
            }
        }
    }
}

/// A model whose calls are counted.
pub(crate) struct MeteredModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) prices: Prices,
}

/// Counts a call when it is dropped, unless that is done already.
struct UnderWay<'a> {
    by: &'a MeteredModel,
    call: &'a Call,
    began: Instant,
    is_counted: bool,
}

impl UnderWay<'_> {
    fn count(&mut self, outcome: Result<&Reply, &'static str>) {
        self.is_counted = true;
        self.by.meter.answered(self.call, self.began.elapsed(), outcome, &self.by.prices);
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            self.count(Err("dropped"));
        }
    }
}

#[async_trait]
impl Model for MeteredModel {
    async fn admit(&self, call: &Call) -> Admission {
        self.model.admit(call).await
    }

    async fn answer(&self, call: &Call) -> Result<Reply, CallError> {
        let mut under_way = UnderWay { by: self, call, began: Instant::now(), is_counted: false };
        let outcome = self.model.answer(call).await;
        under_way.count(outcome.as_ref().map_err(|error| name(error.kind())));
        outcome
    }

    fn bound(&self, model: &ModelRef) -> Option<Bound> {
        self.model.bound(model)
    }

    fn first_token(&self, model: &ModelRef, asked: Option<Duration>) -> Duration {
        self.model.first_token(model, asked)
    }
}

fn name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Timeout => "timeout",
        FailureKind::RateLimited => "rate_limited",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Unauthorized => "unauthorized",
        FailureKind::Refused => "refused",
        FailureKind::ContextTooLong => "context_too_long",
        FailureKind::Network => "network",
        FailureKind::BadResponse => "bad_response",
        FailureKind::Rejected => "rejected",
        FailureKind::Unavailable => "unavailable",
        FailureKind::ScriptChanged => "script_changed",
    }
}

/// A journal whose appends are timed.
pub(crate) struct MeteredJournal {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) meter: Arc<Meter>,
}

#[async_trait]
impl Journal for MeteredJournal {
    async fn append(&self, session: SessionId, records: Vec<Arc<Record>>, node: NodeId) -> Result<(), JournalError> {
        let began = Instant::now();
        let appended = self.journal.append(session, records, node).await;
        let mut numbers = self.meter.numbers();
        match &appended {
            Ok(()) => numbers.appends.add(began.elapsed(), APPENDS),
            Err(_) => numbers.failed_appends += 1,
        }
        appended
    }

    async fn read(&self, session: SessionId, after: Seq, limit: usize) -> Result<Vec<Arc<Record>>, JournalError> {
        self.journal.read(session, after, limit).await
    }

    async fn search(&self, search: &Search) -> Result<Vec<Summary>, JournalError> {
        self.journal.search(search).await
    }

    async fn find(&self, id_prefix: &str, limit: usize) -> Result<Vec<SessionId>, JournalError> {
        self.journal.find(id_prefix, limit).await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, JournalError> {
        self.journal.delete(session).await
    }

    async fn forks(&self, of: &[SessionId]) -> Result<Vec<SessionId>, JournalError> {
        self.journal.forks(of).await
    }

    async fn settle(&self, session: SessionId) {
        self.journal.settle(session).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_by_its_bounds() {
        let (mut histogram, mut page) = (Histogram::default(), Page::default());
        for ms in [1, 400, 500, 9_000] {
            histogram.add(Duration::from_millis(ms), &[0.5, 1.0]);
        }
        histogram.write(&mut page, "x", "provider=\"lab\"", &[0.5, 1.0]);
        let expected = "x_bucket{provider=\"lab\",le=\"0.5\"} 3\nx_bucket{provider=\"lab\",le=\"1\"} 3\n\
            x_bucket{provider=\"lab\",le=\"+Inf\"} 4\nx_sum{provider=\"lab\"} 9.901\nx_count{provider=\"lab\"} 4\n";
        assert_eq!(page.0, expected);
    }

    #[test]
    fn names_that_somebody_makes_up_cannot_grow_the_page() {
        let mut numbers = Numbers::default();
        for provider in 0..500 {
            numbers.provider(&provider.to_string()).retries += 1;
        }
        assert_eq!(numbers.providers.len(), MOST_PROVIDERS + 1);
        assert_eq!(numbers.providers["other"].retries, 500 - MOST_PROVIDERS as u64);
    }
}
