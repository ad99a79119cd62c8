//! Open Sound Control over UDP, for playback systems that speak nothing else: what was said and where its sound lies,
//! in every format.
//!
//! The messages of an address always have the same types, whatever is in them; docs/server.md has the list. A
//! datagram that gets lost is lost: a system that needs all of them reads the event stream.

use std::{
    collections::HashMap,
    io,
    net::{SocketAddr, ToSocketAddrs, UdpSocket},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use polylogue_core::{
    Conversation, Event, Record,
    id::{LineId, Seq, SessionId},
    line::{Clip, Line},
};
use polylogue_runtime::{
    Listener,
    port::{ArtifactPath, Artifacts, Journal},
};

/// Bytes of a text that are sent. A datagram holds about 65,000.
const MAX_TEXT: usize = 16 * 1024;

/// One message: an address, and arguments with their types.
#[derive(Debug)]
pub(crate) struct Message {
    address: String,
    types: String,
    arguments: Vec<u8>,
}

impl Message {
    pub(crate) fn to(address: &str) -> Message {
        Message { address: format!("/polylogue/{address}"), types: ",".to_owned(), arguments: Vec::new() }
    }

    pub(crate) fn text(mut self, text: &str) -> Message {
        self.types.push('s');
        push_text(&mut self.arguments, &text[..text.floor_char_boundary(MAX_TEXT)]);
        self
    }

    pub(crate) fn number(mut self, number: impl TryInto<i32>) -> Message {
        self.types.push('i');
        self.arguments.extend(number.try_into().unwrap_or(i32::MAX).to_be_bytes());
        self
    }

    /// A clip: the file by its whole path, and how long it plays, in seconds.
    pub(crate) fn clip(self, clip: &Clip, artifacts: &Path) -> Message {
        let mut message = self.text(&artifacts.join(&clip.path).to_string_lossy());
        message.types.push('f');
        message.arguments.extend((clip.duration_ms as f32 / 1000.0).to_be_bytes());
        message
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_text(&mut bytes, &self.address);
        push_text(&mut bytes, &self.types);
        bytes.extend(&self.arguments);
        bytes
    }
}

/// A text with its end, filled up to a multiple of four bytes.
fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // A zero within would end it early.
    bytes.extend(text.bytes().filter(|byte| *byte != 0));
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Sends messages to one place. Nobody waits for a datagram.
pub(crate) struct Sender {
    socket: UdpSocket,
    /// The folder of the clips on this machine, as a whole path.
    pub(crate) folder: PathBuf,
    artifacts: Arc<dyn Artifacts>,
}

impl Sender {
    /// To an address such as `127.0.0.1:9000` or `studio.local:9000`.
    pub(crate) fn new(target: &str, folder: &Path, artifacts: Arc<dyn Artifacts>) -> io::Result<Sender> {
        let nobody = || io::Error::other("nobody is there");
        let target = target.to_socket_addrs()?.next().ok_or_else(nobody)?;
        let any: SocketAddr = if target.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 16], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        Ok(Sender { socket, folder: std::path::absolute(folder)?, artifacts })
    }

    /// Sees to it that clips are on this machine before anybody is told so. A session's own are; those of a fork may
    /// have been made elsewhere. Where one cannot be had, the rest are not waited for either.
    pub(crate) async fn fetch(&self, records: &[Arc<Record>]) {
        for record in records {
            let Event::ClipMade { clip, .. } = &record.event else { continue };
            let Some(path) = ArtifactPath::parse(&clip.path) else { continue };
            if let Err(error) = self.artifacts.local(&path).await {
                return tracing::warn!(%error, "a clip is told to the playback system and is not on this machine");
            }
        }
    }

    pub(crate) fn send(&self, message: &Message) {
        if let Err(error) = self.socket.send(&message.bytes()) {
            tracing::debug!(%error, "an OSC message was not sent");
        }
    }
}

/// Tells a playback system what is said in every session, and what can be heard of it.
pub(crate) struct Playback {
    journal: Arc<dyn Journal>,
    sender: Sender,
    /// The sessions under way.
    sessions: Mutex<HashMap<SessionId, Conversation>>,
}

impl Playback {
    pub(crate) fn new(journal: Arc<dyn Journal>, sender: Sender) -> Playback {
        Playback { journal, sender, sessions: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Conversation>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a record means, told after it was applied. `before` lines were there before it.
    fn tell(&self, record: &Record, before: usize, conversation: &Conversation) {
        let stage = conversation.stage();
        let session = stage.setup().id.to_string();
        if let Event::Started { setup, .. } = &record.event {
            let message = Message::to("session/start").text(&session).text(setup.format.name());
            self.sender.send(&message.text(setup.format.title()));
        }
        for line in stage.transcript().lines().iter().skip(before) {
            self.sender.send(&spoken(&session, line));
        }
        let of_line = |id: &LineId| stage.transcript().get(*id);
        match &record.event {
            Event::LineCut { line, after, .. } => {
                self.sender.send(&Message::to("line/cut").text(&session).number(line.0).text(after));
            }
            Event::ClipMade { line, clip } => {
                let speaker = of_line(line).map_or("", |line| line.speaker.name());
                let voice = clip.voice.as_deref().unwrap_or_default();
                let message = Message::to("audio").text(&session).number(line.0).text(speaker).text(voice);
                self.sender.send(&message.clip(clip, &self.sender.folder));
            }
            Event::ClipFailed { line, error } => {
                let speaker = of_line(line).map_or("", |line| line.speaker.name());
                self.sender.send(&Message::to("audio/failed").text(&session).number(line.0).text(speaker).text(error));
            }
            Event::Ended { reason, .. } => {
                self.sender.send(&Message::to("session/end").text(&session).text(reason.as_str()));
            }
            _ => {}
        }
    }
}

/// A line: who says it, in which turn, what it is and to whom it is said.
fn spoken(session: &str, line: &Line) -> Message {
    let turn = line.ask.as_ref().map_or(0, |ask| ask.turn);
    let to = line.to.as_ref().map_or("", |to| to.as_str());
    let message = Message::to("line").text(session).number(line.id.0).number(turn);
    message.text(line.speaker.name()).text(line.kind.as_str()).text(to).text(&line.text)
}

#[async_trait]
impl Listener for Playback {
    async fn heard(&self, session: SessionId, records: &[Arc<Record>]) {
        let Some(first) = records.first() else { return };
        self.sender.fetch(records).await;
        let is_known = self.lock().contains_key(&session);
        // A session that goes on has a past that its lines are told from.
        let past = match is_known || first.seq == Seq::START.next() {
            true => Vec::new(),
            false => self.journal.read_all(session).await.unwrap_or_default(),
        };
        let mut sessions = self.lock();
        let mut known = sessions.remove(&session);
        for record in past.iter().take_while(|record| record.seq < first.seq) {
            known = folded(known, record).map(|(conversation, _)| conversation);
        }
        for record in records {
            let Some((conversation, before)) = folded(known.take(), record) else { return };
            self.tell(record, before, &conversation);
            known = Some(conversation);
        }
        let has_ended = records.iter().any(|record| matches!(record.event, Event::Ended { .. }));
        if let Some(conversation) = known.filter(|_| !has_ended) {
            sessions.insert(session, conversation);
        }
    }
}

/// The conversation after this record, and how many lines it had before.
fn folded(known: Option<Conversation>, record: &Record) -> Option<(Conversation, usize)> {
    match known {
        Some(mut conversation) => {
            let before = conversation.stage().transcript().lines().len();
            conversation.apply(record);
            Some((conversation, before))
        }
        None => Some((Conversation::replay([record]).ok()?, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_laid_out_in_fours() {
        let clip = Clip { path: "a.wav".into(), duration_ms: 1500, ..Clip::default() };
        let message = Message::to("audio").text("xyz").number(7_u32).clip(&clip, Path::new("/clips"));
        let mut wanted = b"/polylogue/audio\0\0\0\0,sisf\0\0\0xyz\0\0\0\0\x07/clips/a.wav\0\0\0\0".to_vec();
        wanted.extend(1.5_f32.to_be_bytes());
        assert_eq!(message.bytes(), wanted);
        let long = Message::to("line").text(&"\u{e4}".repeat(20_000)).bytes();
        assert!(long.len() < MAX_TEXT + 64 && long.len().is_multiple_of(4), "{}", long.len());
    }
}
