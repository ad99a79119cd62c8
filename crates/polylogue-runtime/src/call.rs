//! One ask, performed: tries under a time limit, with bounded retries that wait as the provider says.

use std::{sync::Arc, time::Duration};

use polylogue_core::{Answer, Input, ask::Ask, ledger::Usage};
use tokio::time::{Instant, sleep, timeout_at};

use crate::port::{Call, CallError, Deltas, Model, Reply};

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

/// Asks until there is a reply, or no more tries. The answer says what all tries together used. The time limit
/// is each try's own, unless others wait for the answer; it begins when the model takes the call up.
pub(crate) async fn perform(
    model: Arc<dyn Model>,
    ask: Ask,
    deltas: Deltas,
    time_limit: Duration,
    retries: Retries,
) -> Input {
    let mut call = Call { ask, retry: 0, deltas };
    let mut wasted = Usage::default();
    let is_waited_for = call.ask.id.purpose.is_waited_for();
    let mut last = None;
    loop {
        let admission = model.admit(&call).await;
        let until = Instant::now() + time_limit;
        let until = if is_waited_for { *last.get_or_insert(until) } else { until };
        let tried = timeout_at(until, model.answer(&call)).await;
        drop(admission);
        let error = match tried.unwrap_or(Err(CallError::Timeout(time_limit))) {
            Ok(reply) => {
                let Reply { text, usage, is_full } = reply;
                let answer = Answer { text, usage, wasted, retries: call.retry, is_full };
                return Input::Answered { ask: call.ask.id, answer };
            }
            Err(error) => error,
        };
        wasted += call.deltas.take().usage.unwrap_or_default();
        let wait = wait_before_next(&error, call.retry, &retries);
        let Some(wait) = wait.filter(|wait| last.is_none_or(|last| Instant::now() + *wait < last)) else {
            let failure = (&error).into();
            return Input::AskFailed { ask: call.ask.id, failure, usage: wasted, retries: call.retry };
        };
        tracing::debug!(ask = %call.ask.id, %error, ?wait, "trying again");
        sleep(wait).await;
        call.retry += 1;
    }
}

/// How long to wait before the next try; `None` when there is none.
fn wait_before_next(error: &CallError, retry: u32, retries: &Retries) -> Option<Duration> {
    if !error.is_passing() || retry >= retries.max {
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
    use async_trait::async_trait;
    use polylogue_core::{
        ask::{Request, Thread},
        id::{AskId, Purpose},
        setup::{ModelRef, Sampling},
    };

    use super::*;
    use crate::port::Admission;

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
        for (waits, takes, in_time) in [(300, 5, true), (0, 31, false)] {
            let request = Request {
                model: ModelRef { provider: "test".into(), model: "queued".into() },
                system: "".into(),
                thread: Thread::default(),
                prompt: "Go.".into(),
                shape: None,
                grammar: None,
                sampling: Sampling::default(),
            };
            let id = AskId { purpose: Purpose::new("contribute"), turn: 1, agent: "ann".parse().unwrap(), attempt: 1 };
            let model = Arc::new(Queued { waits: seconds(waits), takes: seconds(takes) });
            let retries = Retries { max: 0, ..Retries::default() };
            let input = perform(model, Ask { id, request }, Deltas::unwatched(), seconds(30), retries).await;
            assert_eq!(matches!(input, Input::Answered { .. }), in_time, "{waits} s, then {takes} s");
        }
    }

    #[test]
    fn waits_grow_are_bounded_and_heed_the_provider() {
        let retries = Retries::default();
        let overloaded = |retry_after| CallError::Overloaded { retry_after, message: String::new() };
        let ms = Duration::from_millis;
        for (retry, low, high) in [(0, 250, 500), (1, 500, 1_000), (2, 1_000, 2_000)] {
            let wait = wait_before_next(&overloaded(None), retry, &retries).unwrap();
            assert!(ms(low) <= wait && wait <= ms(high), "{retry}: {wait:?}");
        }
        assert_eq!(wait_before_next(&overloaded(None), 3, &retries), None);
        assert_eq!(wait_before_next(&overloaded(Some(ms(7_000))), 0, &retries), Some(ms(7_000)));
        assert_eq!(wait_before_next(&overloaded(Some(ms(31_000))), 0, &retries), None);
        assert_eq!(wait_before_next(&CallError::Unauthorized(String::new()), 0, &retries), None);
        let many = Retries { max: 100, ..retries };
        assert!(wait_before_next(&overloaded(None), 99, &many).unwrap() <= many.longest_wait);
    }
}
