//! Counts for Prometheus, in its text form. Labels come from closed sets, so the page cannot grow for ever.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::{Method, StatusCode};

use crate::panics;

#[derive(Debug)]
pub(crate) struct Metrics {
    began: Instant,
    requests: Mutex<BTreeMap<Label, Answered>>,
    pub(crate) sessions_started: AtomicU64,
    streams: AtomicU64,
    connections: AtomicU64,
    turned_away: AtomicU64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Default)]
struct Answered {
    count: u64,
    seconds: f64,
}

impl Default for Metrics {
    fn default() -> Self {
        let (requests, sessions_started, streams, connections, turned_away) = Default::default();
        Metrics { began: Instant::now(), requests, sessions_started, streams, connections, turned_away }
    }
}

impl Metrics {
    pub(crate) fn answered(&self, method: &Method, route: &str, status: StatusCode, elapsed: Duration) {
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        };
        let label = Label { method, route: route.to_owned(), status: status.as_u16() };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = requests.entry(label).or_default();
        answered.count += 1;
        answered.seconds += elapsed.as_secs_f64();
    }

    /// Counts a stream for as long as the mark is kept.
    pub(crate) fn stream(self: &Arc<Self>) -> Open {
        Open::of(self, |metrics| &metrics.streams)
    }

    /// Counts a connection for as long as the mark is kept.
    pub(crate) fn connection(self: &Arc<Self>) -> Open {
        Open::of(self, |metrics| &metrics.connections)
    }

    /// Counts a connection for which there was no room.
    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn page(&self, running: usize, log_lines_dropped: u64) -> String {
        let mut page = String::new();
        let mut gauge = |name: &str, kind: &str, help: &str, value: f64| {
            let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        gauge("polylogue_sessions_running", "gauge", "Sessions that run now.", running as f64);
        gauge("polylogue_sessions_started_total", "counter", "Sessions begun here.", count(&self.sessions_started));
        gauge("polylogue_streams_open", "gauge", "Event streams that are open.", count(&self.streams));
        gauge("polylogue_connections_open", "gauge", "Connections that are served.", count(&self.connections));
        let turned_away = "Connections for which there was no room.";
        gauge("polylogue_connections_turned_away_total", "counter", turned_away, count(&self.turned_away));
        gauge("polylogue_panics_total", "counter", "Panics: each is a bug.", panics::counted() as f64);
        gauge("polylogue_uptime_seconds", "gauge", "Age of the process.", self.began.elapsed().as_secs_f64());
        let dropped = log_lines_dropped as f64;
        gauge("polylogue_log_lines_dropped_total", "counter", "Lines that the log could not take.", dropped);
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "polylogue_http_requests";
        let _ = write!(page, "# HELP {name}_total Requests answered.\n# TYPE {name}_total counter\n");
        for (Label { method, route, status }, answered) in &*requests {
            let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
            let _ = writeln!(page, "{name}_total{labels} {}", answered.count);
        }
        let name = "polylogue_http_request_seconds_total";
        let _ = write!(page, "# HELP {name} Time to the head of the answer.\n# TYPE {name} counter\n");
        for (Label { method, route, status }, answered) in &*requests {
            let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
            let _ = writeln!(page, "{name}{labels} {}", answered.seconds);
        }
        page
    }
}

/// Dropped when what it counts is over.
pub(crate) struct Open {
    metrics: Arc<Metrics>,
    gauge: fn(&Metrics) -> &AtomicU64,
}

impl Open {
    fn of(metrics: &Arc<Metrics>, gauge: fn(&Metrics) -> &AtomicU64) -> Open {
        gauge(metrics).fetch_add(1, Ordering::Relaxed);
        Open { metrics: metrics.clone(), gauge }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        (self.gauge)(&self.metrics).fetch_sub(1, Ordering::Relaxed);
    }
}
