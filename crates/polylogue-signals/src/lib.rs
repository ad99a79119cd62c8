//! Signals between processes, through NATS.
//!
//! Signals may be lost, so nothing here waits for a server, and nothing is kept for one that is gone: what cannot be
//! sent now is dropped. What is listened to is listened to again when a server is back.

mod address;

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Subscriber, connection::State};
use futures_util::StreamExt;
use polylogue_runtime::port::{Signal, Signalled, Signals, Topic};
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::sleep,
};

pub use self::address::BadAddress;

/// Orders that wait for the connection at most. Signals beyond that are dropped.
const QUEUE: usize = 4_096;

/// How long a server may take before the log says that it is not there.
const FIRST_CONNECTION: Duration = Duration::from_secs(3);

/// The longest pause between two tries to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where the servers are, and who this is.
#[derive(Clone, Debug, Default)]
pub struct NatsSettings {
    /// One address or several, separated by commas: `nats://host:4222`, or `tls://` with a certificate that the system
    /// trusts. A user and a password may be in it.
    pub servers: String,
    /// The first word of every subject. Processes that share a store share it.
    pub name: String,
    /// For the user that the address names.
    pub password: Option<String>,
    pub token: Option<String>,
}

/// Carries signals through NATS servers.
#[derive(Clone, Debug)]
pub struct Nats {
    orders: mpsc::Sender<Order>,
    name: String,
}

#[derive(Debug)]
enum Order {
    Send { subject: String, signal: Signal },
    Listen { subject: String, to: mpsc::Sender<Signal> },
}

impl Nats {
    /// Connects as soon as a server can be reached, and again whenever that was lost. Does not wait for it.
    pub async fn connect(settings: &NatsSettings) -> Result<Nats, BadAddress> {
        address::check_name(&settings.name)?;
        let servers = address::parse(&settings.servers)?;
        let mut options = ConnectOptions::new()
            .name("polylogue")
            .no_echo()
            .retry_on_initial_connect()
            .max_reconnects(None)
            .connection_timeout(Duration::from_secs(5))
            .ping_interval(Duration::from_secs(10))
            .client_capacity(QUEUE)
            .subscription_capacity(4 * Signalled::QUEUE)
            .reconnect_delay_callback(|tries| (Duration::from_millis(50) * tries as u32).min(LONGEST_PAUSE))
            .event_callback(|event| async move { log(&event) });
        if let Some(token) = &settings.token {
            options = options.token(token.clone());
        } else if let Some((user, password)) = address::user(&servers, settings.password.as_deref()) {
            options = options.user_and_password(user, password);
        }
        // It does not wait for a server, so only what is wrong with the settings is told.
        let client = options.connect(servers).await.map_err(|error| BadAddress::Refused(error.to_string()))?;
        let (orders, queue) = mpsc::channel(QUEUE);
        tokio::spawn(carry(client, queue));
        Ok(Nats { orders, name: settings.name.clone() })
    }

    fn subject(&self, topic: &Topic) -> String {
        format!("{}.{topic}", self.name)
    }
}

impl Signals for Nats {
    fn send(&self, topic: &Topic, signal: Signal) {
        // Whatever does not fit is dropped.
        let _ = self.orders.try_send(Order::Send { subject: self.subject(topic), signal });
    }

    fn listen(&self, topic: Topic) -> Signalled {
        let (to, signals) = mpsc::channel(Signalled::QUEUE);
        let order = Order::Listen { subject: self.subject(&topic), to };
        if let Err(TrySendError::Full(order)) = self.orders.try_send(order) {
            // A subscription is not dropped: it may be needed long after the queue is empty again.
            let orders = self.orders.clone();
            tokio::spawn(async move { orders.send(order).await });
        }
        Signalled::new(signals, ())
    }
}

/// Carries out orders one after the other, so that who listens and then sends something hears the answer. Ends with the
/// last who can give any.
async fn carry(client: Client, mut queue: mpsc::Receiver<Order>) {
    tokio::spawn(say_if_nobody_is_there(client.clone()));
    while let Some(order) = queue.recv().await {
        match order {
            Order::Send { subject, signal } => {
                if client.connection_state() != State::Connected {
                    continue;
                }
                let Ok(payload) = serde_json::to_vec(&signal) else { continue };
                if let Err(error) = client.publish(subject, payload.into()).await {
                    tracing::debug!(%error, "a signal cannot be sent");
                }
            }
            Order::Listen { to, .. } if to.is_closed() => {}
            Order::Listen { subject, to } => match client.subscribe(subject).await {
                Ok(subscriber) => drop(tokio::spawn(bring(subscriber, to))),
                Err(error) => tracing::warn!(%error, "signals cannot be listened to"),
            },
        }
    }
}

/// Brings what comes in to somebody who listens, for as long as they do.
async fn bring(mut subscriber: Subscriber, to: mpsc::Sender<Signal>) {
    loop {
        let message = tokio::select! {
            message = subscriber.next() => message,
            () = to.closed() => return,
        };
        let Some(message) = message else { return };
        // One from a newer version may not be known here, and one who is slow misses some.
        if let Ok(signal) = serde_json::from_slice(&message.payload) {
            let _ = to.try_send(signal);
        }
    }
}

async fn say_if_nobody_is_there(client: Client) {
    sleep(FIRST_CONNECTION).await;
    if client.connection_state() != State::Connected {
        tracing::error!(
            "no NATS server can be reached: until one can, other processes are noticed by looking into the store"
        );
    }
}

fn log(event: &Event) {
    match event {
        Event::Connected => tracing::info!("connected to NATS"),
        Event::Disconnected => {
            tracing::error!(
                "the connection to NATS is lost: until it is back, other processes are noticed by looking into the store"
            );
        }
        Event::ServerError(problem) => tracing::error!(%problem, "NATS refuses something"),
        Event::SlowConsumer(_) => tracing::debug!("signals come faster than they are heard, and some are lost"),
        Event::ClientError(problem) => tracing::debug!(%problem, "NATS cannot be reached"),
        Event::LameDuckMode | Event::Draining | Event::Closed => tracing::debug!(%event, "NATS"),
    }
}
