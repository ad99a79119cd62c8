//! What a playback system is told over UDP: in every format, each address with the same types every time, clips by
//! their whole path and with their length.

use std::{collections::BTreeMap, net::UdpSocket, path::Path, thread};

use crate::{
    folder::{Folder, example},
    stage::stage,
    vendors::Vendors,
};

#[derive(Clone, Debug, PartialEq)]
enum Argument {
    Number(i32),
    Seconds(f32),
    Text(String),
}

#[derive(Debug)]
struct Message {
    address: String,
    types: String,
    arguments: Vec<Argument>,
}

/// Takes what fills a text up to a multiple of four bytes as well.
fn text(bytes: &mut &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    let text = String::from_utf8(bytes[..end].to_vec()).unwrap();
    *bytes = &bytes[(end + 1).next_multiple_of(4)..];
    text
}

fn four(bytes: &mut &[u8]) -> [u8; 4] {
    let (four, rest) = bytes.split_first_chunk().unwrap();
    *bytes = rest;
    *four
}

impl Message {
    fn read(mut bytes: &[u8]) -> Message {
        let (address, types) = (text(&mut bytes), text(&mut bytes));
        let arguments = types.chars().skip(1).map(|kind| match kind {
            'i' => Argument::Number(i32::from_be_bytes(four(&mut bytes))),
            'f' => Argument::Seconds(f32::from_be_bytes(four(&mut bytes))),
            's' => Argument::Text(text(&mut bytes)),
            other => panic!("nobody has heard of `{other}`"),
        });
        let arguments = arguments.collect();
        assert!(bytes.is_empty(), "there is more in it than {types} says");
        Message { address, types, arguments }
    }

    fn text(&self, at: usize) -> &str {
        match &self.arguments[at] {
            Argument::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }
}

/// Runs it to its end, with a voice; everything that was told by then.
fn told(folder: &Folder, config: &str, args: &[&str]) -> Vec<Message> {
    let vendors = Vendors::start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = socket.local_addr().unwrap();
    folder.write("polylogue.toml", &format!("{config}\n[osc]\ntarget = \"{target}\"\n"));
    // It listens while it is told, since a socket keeps only so much.
    let listening = thread::spawn(move || {
        let (mut messages, mut datagram) = (Vec::new(), [0; 65_536]);
        while messages.last().is_none_or(|message: &Message| message.address != "/over") {
            let (length, _) = socket.recv_from(&mut datagram).unwrap();
            messages.push(Message::read(&datagram[..length]));
        }
        messages.pop();
        messages
    });
    let mut command = folder.command(&[args, &["--speech"]].concat());
    command.env("ELEVENLABS_API_KEY", "stand-in").env("ELEVENLABS_BASE_URL", vendors.address());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"/over\0\0\0,\0\0\0", target).unwrap();
    listening.join().unwrap()
}

/// What every format tells: who begins, each line, each clip, the end.
fn check(messages: &[Message], format: &str, types: &mut BTreeMap<String, String>) {
    for message in messages {
        let same = types.entry(message.address.clone()).or_insert_with(|| message.types.clone());
        assert_eq!(*same, message.types, "{message:?}");
    }
    let of = |address: &str| messages.iter().filter(|message| message.address == address).collect::<Vec<_>>();
    assert_eq!(of("/polylogue/session/start").iter().map(|message| message.text(1)).collect::<Vec<_>>(), [format]);
    let lines: Vec<(&Argument, &str)> =
        of("/polylogue/line").iter().map(|message| (&message.arguments[1], message.text(3))).collect();
    assert!(lines.len() > 1, "{messages:?}");
    let clips = of("/polylogue/audio");
    assert!(!clips.is_empty(), "{messages:?}");
    for clip in clips {
        assert!(lines.contains(&(&clip.arguments[1], clip.text(2))), "whose line it is: {clip:?}");
        heard(clip.text(4), &clip.arguments[5]);
    }
}

fn heard(path: &str, length: &Argument) {
    assert!(Path::new(path).is_absolute() && Path::new(path).is_file(), "{path}");
    assert!(matches!(length, Argument::Seconds(seconds) if (0.1..1.0).contains(seconds)), "{length:?}");
}

#[test]
fn every_format_is_told_in_the_same_form() {
    let mut types = BTreeMap::new();
    let replies = "replies: [{purpose: discuss, reply: Well.}, {reply: {message: Well., final: true}}]";
    let agents = "[agents.gpt]\nmodel = \"script/replies.yaml\"\n[agents.claude]\nmodel = \"script/replies.yaml\"\n";

    let folder = Folder::new();
    folder.write("replies.yaml", replies);
    check(&told(&folder, agents, &["collaborate", "Go."]), "collaboration", &mut types);

    let participants = ["--participant", "manager=gpt", "--participant", "specialist=claude", "--max-rounds", "1"];
    let discussion = [&["discuss", "new", "--title", "The roof"], &participants[..]].concat();
    check(&told(&folder, agents, &discussion), "discussion", &mut types);

    let folder = stage();
    folder.write("scene.yaml", "name: talk\nprompt: They talk.\ncharacters: [alice, bob]\ninitialSpeaker: bob\n");
    let scene = told(&folder, "", &["scene", "scene.yaml", "--model", "script/replies.yaml"]);
    check(&scene, "scene", &mut types);
    assert_eq!(scene.last().map(|message| message.address.as_str()), Some("/polylogue/session/end"), "{scene:?}");

    let folder = Folder::new();
    let text = std::fs::read_to_string(example("chorus/replies.yaml")).unwrap();
    folder.write("replies.yaml", &text);
    let chorus = told(&folder, agents, &["chorus", "What is a home?", "--seed", "1"]);
    check(&chorus, "chorus", &mut types);
    for clip in chorus.iter().filter(|message| message.address == "/polylogue/slot/audio") {
        heard(clip.text(6), &clip.arguments[7]);
    }
    // A comment and a response are told alike, so that a patch need not tell them apart.
    assert_eq!(types["/polylogue/slot/done"], ",sisisiss");
    let documented: BTreeMap<&str, &str> = DOCUMENTED.iter().copied().collect();
    for (address, types) in &types {
        assert_eq!(documented.get(address.as_str()), Some(&types.as_str()), "{address}");
    }
    let page = std::fs::read_to_string(example("../docs/server.md")).unwrap();
    for (address, types) in DOCUMENTED {
        let row = format!("| `{address}` | `{types}` |");
        assert!(page.contains(&row), "docs/server.md has no {row}");
    }
}

/// The types of every address, as docs/server.md has them.
const DOCUMENTED: &[(&str, &str)] = &[
    ("/polylogue/session/start", ",sss"),
    ("/polylogue/line", ",siissss"),
    ("/polylogue/line/cut", ",sis"),
    ("/polylogue/audio", ",sisssf"),
    ("/polylogue/audio/failed", ",siss"),
    ("/polylogue/session/end", ",ss"),
    ("/polylogue/turn/start", ",si"),
    ("/polylogue/slot/start", ",sisis"),
    ("/polylogue/slot/done", ",sisisiss"),
    ("/polylogue/slot/audio", ",sisisssf"),
    ("/polylogue/slot/error", ",sisisss"),
    ("/polylogue/turn/done", ",sii"),
    ("/polylogue/turn/audio", ",sii"),
    ("/polylogue/done", ",siis"),
];
