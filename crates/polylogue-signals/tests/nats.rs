//! Signals through real NATS servers, which are also ended and started again.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use polylogue_core::id::{Seq, SessionId};
use polylogue_runtime::port::{LetterId, NodeId, Signal, Signalled, Signals, Topic};
use polylogue_signals::{Nats, NatsSettings};
use tokio::time::{interval, timeout};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

/// A server of a test's own, which ends with it.
struct Server {
    port: u16,
    options: &'static [&'static str],
    running: Option<Child>,
}

impl Server {
    /// A place for a server that does not run yet.
    fn new(options: &'static [&'static str]) -> Server {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = free.local_addr().expect("an address").port();
        Server { port, options, running: None }
    }

    fn started(options: &'static [&'static str]) -> Server {
        let mut server = Server::new(options);
        server.start();
        server
    }

    fn start(&mut self) {
        let program = std::env::var("POLYLOGUE_TEST_NATS_SERVER")
            .expect("these tests need a NATS server: run them by `scripts/nats.sh run cargo nextest run …`");
        let port = self.port.to_string();
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1", "--port", &port]).args(self.options);
        self.running = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts"));
    }

    /// Ends it as a crash would.
    fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().expect("it runs");
            running.wait().expect("it has ended");
        }
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn settings(servers: String) -> NatsSettings {
    NatsSettings { servers, name: "test".to_owned(), ..NatsSettings::default() }
}

async fn connect(server: &Server) -> Nats {
    Nats::connect(&settings(server.url())).await.expect("an address")
}

fn session() -> Topic {
    Topic::Session(SessionId::from_random([7; 16]))
}

fn news(head: u64) -> Signal {
    Signal::News { head: Seq(head) }
}

/// Sends until it is heard: there is nobody to tell that a connection is there.
async fn heard(from: &Nats, topic: &Topic, signal: Signal, at: &mut Signalled) -> Signal {
    let mut again = interval(Duration::from_millis(20));
    let hear = async {
        loop {
            tokio::select! {
                heard = at.next() => return heard,
                _ = again.tick() => from.send(topic, signal.clone()),
            }
        }
    };
    timeout(LONG, hear).await.expect("it is heard in the end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_listen_to_a_topic_hear_its_signals_in_order() {
    let server = Server::started(&[]);
    let (here, there) = (connect(&server).await, connect(&server).await);
    let mut listener = there.listen(session());
    heard(&here, &session(), news(0), &mut listener).await;
    listener.drain();
    let node = Topic::Node(NodeId::random());
    for (topic, signal) in [
        (&Topic::Nodes, Signal::Look),
        (&node, Signal::Look),
        (&Topic::Letter(LetterId::random()), Signal::Look),
        (&session(), news(1)),
        (&Topic::Room("lab".parse().expect("a room")), Signal::Look),
        (&session(), news(2)),
    ] {
        here.send(topic, signal);
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&news(2)) {
        seen.push(timeout(LONG, listener.next()).await.expect("it arrives"));
    }
    seen.retain(|signal| *signal != news(0));
    assert_eq!(seen, [news(1), news(2)], "of this topic, and no other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_hears_themselves_or_those_of_another_name() {
    let server = Server::started(&[]);
    let (here, there) = (connect(&server).await, connect(&server).await);
    let of_another_name = NatsSettings { name: "other".to_owned(), ..settings(server.url()) };
    let other = Nats::connect(&of_another_name).await.expect("an address");
    let (mut own, mut others) = (here.listen(session()), other.listen(session()));
    // All are connected when these are heard.
    heard(&there, &session(), news(1), &mut own).await;
    let (third, mut ready) = (Nats::connect(&of_another_name).await.expect("an address"), other.listen(Topic::Nodes));
    heard(&third, &Topic::Nodes, Signal::Look, &mut ready).await;
    own.drain();
    here.send(&session(), news(2));
    there.send(&session(), news(3));
    loop {
        match timeout(LONG, own.next()).await.expect("it arrives") {
            signal if signal == news(1) => {}
            signal => break assert_eq!(signal, news(3), "one's own signal is not heard"),
        }
    }
    let nothing = timeout(Duration::from_millis(200), others.next()).await;
    assert!(nothing.is_err(), "another store's signals are not heard: {nothing:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_come_later_and_be_started_again() {
    let mut server = Server::new(&[]);
    let (here, there) = (connect(&server).await, connect(&server).await);
    let mut listener = there.listen(session());
    here.send(&session(), news(0));
    server.start();
    assert_eq!(heard(&here, &session(), news(1), &mut listener).await, news(1), "what was sent to nobody is lost");
    for round in 2..4 {
        server.kill();
        // Nothing of it waits anywhere, however much it is.
        for _ in 0..100_000 {
            here.send(&session(), news(0));
        }
        let mut late = there.listen(Topic::Nodes);
        server.start();
        listener.drain();
        loop {
            // Some may have been under way when it was ended.
            match heard(&here, &session(), news(round), &mut listener).await {
                signal if signal == news(round) => break,
                _ => {}
            }
        }
        heard(&here, &Topic::Nodes, Signal::Look, &mut late).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_or_a_token_opens_the_door() {
    let doors: [&[&str]; 2] = [&["--user", "ada", "--pass", "s3cret"], &["--auth", "s3cret"]];
    for options in doors {
        let server = Server::started(options);
        let secret = Some("s3cret".to_owned());
        let with_secret = match options[0] {
            "--user" => NatsSettings { password: secret, ..settings(server.url().replace("//", "//ada@")) },
            _ => NatsSettings { token: secret, ..settings(server.url()) },
        };
        let here = Nats::connect(&with_secret).await.expect("an address");
        let there = Nats::connect(&with_secret).await.expect("an address");
        let mut listener = there.listen(session());
        heard(&here, &session(), news(1), &mut listener).await;
        let stranger = connect(&server).await;
        let mut closed = stranger.listen(session());
        here.send(&session(), news(2));
        let nothing = timeout(Duration::from_millis(200), closed.next()).await;
        assert!(nothing.is_err(), "a stranger hears nothing: {nothing:?}");
    }
}
