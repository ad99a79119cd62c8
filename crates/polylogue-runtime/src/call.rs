//! One ask, performed: tries that end when nothing is heard any more, with bounded retries that wait as the provider
//! says and that the session can pay for.
//!
//! A try may be slow as long as it says something. Where others wait for the answer, one deadline holds for all tries
//! together: silence has as long as one try may be silent, and an answer that is being written as long as one try may
//! take.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use futures_util::FutureExt;
use polylogue_core::{
    Answer, Input,
    ask::Ask,
    event::CallFailure,
    setup::{Limits, ModelRef},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

use crate::{
    places::{Place, Places},
    port::{Admission, Call, CallError, Model, Reply},
    purse::Tab,
    tenure::Tenure,
};

/// How often a passing failure is tried again, and how long is waited in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    pub max: u32,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
    /// The longest wait. A provider that asks for more is not waited for.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { max: 3, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(30) }
    }
}

/// How long a call is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    first_token: Duration,
    /// Without a sign of life.
    silence: Duration,
    /// One try as a whole.
    whole: Duration,
}

impl Patience {
    pub(crate) fn new(limits: &Limits, model: &dyn Model, named: &ModelRef) -> Patience {
        Patience {
            first_token: model.first_token(named, limits.first_token_seconds.map(Duration::from_secs)),
            silence: Duration::from_secs(limits.call_timeout_seconds),
            whole: Duration::from_secs(limits.call_max_seconds),
        }
    }

    /// How long others wait for one who says nothing, in all tries together.
    fn for_others(&self) -> Duration {
        self.first_token + self.silence
    }
}

/// What one ask is performed with.
pub(crate) struct Performance<W> {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) ask: Ask,
    pub(crate) tab: Tab,
    pub(crate) patience: Patience,
    pub(crate) retries: Retries,
    pub(crate) tenure: Tenure,
    /// Where places at providers are shared with other processes.
    pub(crate) places: Option<Arc<Places>>,
    /// A permit for each call that may be under way.
    pub(crate) calls: Arc<Semaphore>,
    /// Is told what the ask waits for while no try is under way, and when it waits no more.
    pub(crate) waiting: W,
}

impl<W: Fn(Option<&str>) + Send> Performance<W> {
    /// Asks until there is a reply, or no more tries. What comes back says what all tries together used. The time
    /// limits begin when the model takes the call up.
    pub(crate) async fn run(self) -> Input {
        let Performance { model, ask, tab, patience, retries, tenure, places, calls, waiting } = self;
        let mut call = Call { ask, retry: 0, deltas: tab.deltas.clone() };
        let provider = call.ask.request.model.provider.clone();
        let is_waited_for = call.ask.id.purpose.is_waited_for();
        let (mut others_wait_since, mut timeouts) = (None, 0);
        loop {
            let mut has_waited = call.retry > 0;
            let admission = admitted(&*model, places.as_deref(), &calls, &call, || {
                has_waited = true;
                waiting(Some(&format!("a place at {provider}")));
            })
            .await;
            tenure
                .certain(|| {
                    has_waited = true;
                    waiting(Some("the store"));
                })
                .await;
            if has_waited {
                waiting(None);
            }
            let began = Instant::now();
            let since = is_waited_for.then(|| *others_wait_since.get_or_insert(began));
            tab.open();
            let tried = try_once(&*model, &call, &patience, since).await;
            drop(admission);
            let error = match tried {
                Ok(Reply { text, usage, is_full, drafts }) => {
                    let answer = Answer { text, usage, wasted: tab.wasted(), retries: call.retry, is_full, drafts };
                    return Input::Answered { ask: call.ask.id, answer };
                }
                Err(error) => error,
            };
            tab.close(&error);
            timeouts += u32::from(matches!(error, CallError::Timeout(_)));
            let mut failure = CallFailure::from(&error);
            let wait = wait_before_next(&error, call.retry, timeouts, &retries);
            let last_start = since.map(|since| since + patience.for_others());
            let mut wait = wait.filter(|wait| last_start.is_none_or(|last| Instant::now() + *wait < last));
            if wait.is_some() && !tab.may_try_again() {
                failure.message += "; it is not tried again, because that could pass a limit of the session";
                wait = None;
            }
            let Some(wait) = wait else {
                return Input::AskFailed { ask: call.ask.id, failure, usage: tab.wasted(), retries: call.retry };
            };
            tracing::debug!(ask = %call.ask.id, %error, ?wait, "trying again");
            let seconds = wait.as_secs_f64().ceil().max(1.0);
            waiting(Some(&format!("{provider}, trying again in {seconds} s ({error})")));
            sleep(wait).await;
            call.retry += 1;
        }
    }
}

/// What a try holds while it is under way.
type Admitted<'a> = (Option<Place>, Admission, Option<SemaphorePermit<'a>>);

/// Waits for a place, and says so unless there is one at once. What only this process is short of comes last, so that
/// nobody keeps it who still waits for others.
async fn admitted<'a>(
    model: &dyn Model,
    places: Option<&Places>,
    calls: &'a Semaphore,
    call: &Call,
    waits: impl FnOnce(),
) -> Admitted<'a> {
    let mut admission = pin!(async {
        let bound = places.zip(model.bound(&call.ask.request.model));
        let place = match bound {
            Some((places, bound)) => Some(places.take(bound).await),
            None => None,
        };
        // Nobody closes it.
        (place, model.admit(call).await, calls.acquire().await.ok())
    });
    if let Some(admitted) = admission.as_mut().now_or_never() {
        return admitted;
    }
    waits();
    admission.await
}

/// One try, for as long as there are signs of life.
async fn try_once(
    model: &dyn Model,
    call: &Call,
    patience: &Patience,
    others_wait_since: Option<Instant>,
) -> Result<Reply, CallError> {
    let began = Instant::now();
    let mut answer = pin!(model.answer(call));
    let mut alarm = pin!(sleep(Duration::MAX));
    poll_fn(|cx| {
        if let Poll::Ready(tried) = answer.as_mut().poll(cx) {
            return Poll::Ready(tried);
        }
        // What was heard just now sets the alarm anew.
        let limit = Limit::of(call, patience, began, others_wait_since);
        if alarm.deadline() != limit.until {
            alarm.as_mut().reset(limit.until);
        }
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Err(CallError::Timeout(limit.passed(&call.ask.request.model.provider))))
    })
    .await
}

/// The limit of time that a try meets next.
struct Limit {
    until: Instant,
    of: Duration,
    setting: &'static str,
}

impl Limit {
    fn of(call: &Call, patience: &Patience, began: Instant, others_wait_since: Option<Instant>) -> Limit {
        let limit = |from: Instant, of: Duration, setting| Limit { until: from + of, of, setting };
        let signs = call.deltas.signs();
        let last = signs.last.unwrap_or(began);
        let whole = limit(others_wait_since.unwrap_or(began), patience.whole, "call_max_seconds");
        let silent = match (signs.has_begun, others_wait_since) {
            (true, _) => limit(last, patience.silence, "call_timeout_seconds"),
            (false, None) => limit(last, patience.first_token, "first_token_seconds"),
            (false, Some(since)) => {
                let first = limit(last, patience.first_token, "first_token_seconds");
                let for_others =
                    limit(since, patience.for_others(), "first_token_seconds and call_timeout_seconds together");
                if for_others.until < first.until { for_others } else { first }
            }
        };
        if whole.until < silent.until { whole } else { silent }
    }

    fn passed(&self, provider: &str) -> String {
        let (seconds, setting) = (self.of.as_secs_f64(), self.setting);
        match setting {
            "call_max_seconds" => format!("{provider} has not come to an end within {seconds} s ({setting})"),
            "call_timeout_seconds" => {
                format!("{provider} fell silent for {seconds} s in the middle of its answer ({setting})")
            }
            _ => format!("{provider} has said nothing within {seconds} s ({setting})"),
        }
    }
}

/// How long to wait before the next try; `None` when there is none. What timed out is tried once more: whoever waits
/// has waited long.
fn wait_before_next(error: &CallError, retry: u32, timeouts: u32, retries: &Retries) -> Option<Duration> {
    if !error.is_passing() || retry >= retries.max || timeouts > 1 {
        return None;
    }
    match error.retry_after() {
        Some(asked) if asked > retries.longest_wait => None,
        Some(asked) => Some(asked),
        None => {
            let longest = retries.first_wait.saturating_mul(1 << retry.min(16)).min(retries.longest_wait);
            // Between half and all of it, so that many callers do not come back at once.
            Some(longest.mul_f64(0.5 + fastrand::f64() / 2.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use polylogue_core::{
        ask::{Request, Thread},
        id::{AskId, Purpose},
        setup::Sampling,
    };

    use super::*;
    use crate::{port::Deltas, purse::Purse};

    /// Serves after a long queue, and then takes its time.
    struct Queued {
        waits: Duration,
        takes: Duration,
    }

    #[async_trait]
    impl Model for Queued {
        async fn admit(&self, _: &Call) -> Admission {
            sleep(self.waits).await;
            Admission::default()
        }

        async fn answer(&self, _: &Call) -> Result<Reply, CallError> {
            sleep(self.takes).await;
            Ok(Reply { text: "Done.".into(), ..Reply::default() })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_admission_is_not_held_against_a_call() {
        let seconds = Duration::from_secs;
        for (waits, takes, in_time) in [(300, 5, true), (0, 61, false)] {
            let request = Request {
                model: ModelRef { provider: "test".into(), model: "queued".into() },
                system: "".into(),
                thread: Thread::default(),
                prompt: "Go.".into(),
                shape: None,
                grammar: None,
                plan: None,
                sampling: Sampling::default(),
            };
            let id = AskId { purpose: Purpose::new("contribute"), turn: 1, agent: "ann".parse().unwrap(), attempt: 1 };
            let model = Arc::new(Queued { waits: seconds(waits), takes: seconds(takes) });
            let retries = Retries { max: 0, ..Retries::default() };
            let tab = Tab::new(request.estimate(), None, Deltas::unwatched(), &Purse::default());
            let patience = Patience::new(&Limits::default(), &*model, &request.model);
            let told = AtomicU32::new(0);
            let waiting = |what: Option<&str>| {
                assert!(what.is_none_or(|what| what == "a place at test"));
                told.fetch_add(1, Ordering::SeqCst);
            };
            let ask = Ask { id, request };
            let tenure = Tenure::default();
            tenure.renew(Instant::now(), seconds(3_600));
            let (places, calls) = (None, Arc::new(Semaphore::new(1)));
            let performance = Performance { model, ask, tab, patience, retries, tenure, places, calls, waiting };
            let input = performance.run().await;
            assert_eq!(matches!(input, Input::Answered { .. }), in_time, "{waits} s, then {takes} s");
            assert_eq!(told.into_inner(), 2 * u32::from(waits > 0), "it is told, and so is its end");
        }
    }

    #[test]
    fn waits_grow_are_bounded_and_heed_the_provider() {
        let retries = Retries::default();
        let overloaded = |retry_after| CallError::Overloaded { retry_after, message: String::new() };
        let ms = Duration::from_millis;
        for (retry, low, high) in [(0, 250, 500), (1, 500, 1_000), (2, 1_000, 2_000)] {
            let wait = wait_before_next(&overloaded(None), retry, 0, &retries).unwrap();
            assert!(ms(low) <= wait && wait <= ms(high), "{retry}: {wait:?}");
        }
        assert_eq!(wait_before_next(&overloaded(None), 3, 0, &retries), None);
        assert_eq!(wait_before_next(&overloaded(Some(ms(7_000))), 0, 0, &retries), Some(ms(7_000)));
        assert_eq!(wait_before_next(&overloaded(Some(ms(31_000))), 0, 0, &retries), None);
        assert_eq!(wait_before_next(&CallError::Unauthorized(String::new()), 0, 0, &retries), None);
        let slow = CallError::Timeout(String::new());
        assert!(wait_before_next(&slow, 0, 1, &retries).is_some());
        assert_eq!(wait_before_next(&slow, 1, 2, &retries), None, "what timed out is tried once more");
        let many = Retries { max: 100, ..retries };
        assert!(wait_before_next(&overloaded(None), 99, 0, &many).unwrap() <= many.longest_wait);
    }
}
