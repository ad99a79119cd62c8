//! What can be said on the command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::format;

/// Conversations between several AI agents and a person: directed, bounded, recorded and spoken.
#[derive(Debug, Parser)]
#[command(name = "polylogue", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Configuration file [default: polylogue.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where sessions are kept: sqlite:FILE or postgres://USER@HOST/DATABASE [default: sqlite:data/polylogue.db]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The seed of every draw, to get the same again [default: a new one each time]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// One model for every agent of this run, as provider/model
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON lines only: the journal's events, last the result
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more about what happens inside; twice for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Make a clip of every line
    #[arg(long, global = true, conflicts_with = "no_speech")]
    pub(crate) speech: bool,
    /// Make no clips
    #[arg(long, global = true)]
    pub(crate) no_speech: bool,
    /// Record every request and reply as a script that can be played again
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

impl Common {
    /// Whether lines become clips, where the person has said so.
    pub(crate) fn speech_wish(&self) -> Option<bool> {
        (self.speech || self.no_speech).then_some(self.speech)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The page and the API, on one port
    Serve(Serve),
    #[command(flatten)]
    Format(format::Command),
    /// The recorded conversations
    #[command(subcommand)]
    Sessions(Sessions),
    /// Where sessions are kept
    #[command(subcommand)]
    Store(Store),
    /// What can think here
    #[command(subcommand)]
    Models(Models),
    /// What can speak here
    #[command(subcommand)]
    Voices(Voices),
    /// The built-in prompts, and what they are filled with
    #[command(subcommand)]
    Templates(Templates),
    /// One line per provider, voice, store and model: works, or what to do
    Doctor(Doctor),
    /// Measure the engine; one JSON line per case
    Bench(Bench),
    /// Write what belongs into a package beside the binary
    #[command(subcommand, hide = true)]
    Generate(Generate),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Where to listen [default: 127.0.0.1:7654]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List them, the newest first
    List {
        /// How many at most
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
    },
    /// Show one: what was said, by whom, and what it cost
    Show {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// Print the exact request behind line N
        #[arg(long, value_name = "N")]
        ask: Option<u32>,
        /// Print the exact request behind record SEQ: that of a silence, a judgement, a memory
        #[arg(long, value_name = "SEQ", conflicts_with = "ask")]
        at: Option<u64>,
    },
    /// Ask the agent that said a line why, out of the session; it stays as it was recorded
    Why {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// The line, as `show` numbers them
        line: u32,
        /// Ask something else [default: Why did you say that?]
        #[arg(long, value_name = "TEXT")]
        question: Option<String>,
    },
    /// What a character remembers of the scenes that it played
    Memory {
        /// The character, as its file is called
        character: String,
        /// Only of this story
        #[arg(long, value_name = "STORY")]
        story: Option<String>,
        /// Forget memory N, as they are numbered, or all of them
        #[arg(long, value_name = "N|all", value_parser = forget)]
        forget: Option<Forget>,
    },
    /// Play one again from its journal; no model is called
    Replay {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// Play at this many times the speed it had [default: at once]
        #[arg(long, value_name = "FACTOR")]
        speed: Option<f64>,
        /// Show this beat of a scene: what was done, what the moderator made of it, how they feel
        #[arg(long, value_name = "N", conflicts_with_all = ["speed", "step"])]
        beat: Option<usize>,
        /// Go through a scene beat by beat, one for every Enter
        #[arg(long, conflicts_with = "speed")]
        step: bool,
    },
    /// Go on with one that was stopped, met a limit, or whose process ended
    Resume {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        #[command(flatten)]
        change: Change,
    },
    /// Go on from an earlier place as a new session
    #[command(after_help = "--model NAME=MODEL gives one agent another model, --model MODEL all of them.")]
    Fork {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// The record after which the new session goes its own way, as `show` lists them
        #[arg(long, value_name = "SEQ")]
        at: u64,
        #[command(flatten)]
        otherwise: Otherwise,
        #[command(flatten)]
        change: Change,
    },
    /// Direct a scene, whoever plays it: a note to its characters, something that happens, or both
    Direct {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        /// A note to the characters, which the transcript does not show
        #[arg(long, value_name = "TEXT", required_unless_present = "event")]
        note: Option<String>,
        /// Whom alone the note is for
        #[arg(long, value_name = "NAME", requires = "note")]
        to: Option<String>,
        /// Something that happens in the world
        #[arg(long, value_name = "TEXT")]
        event: Option<String>,
    },
    /// Remove some, with their clips and files; asks first on a terminal
    Delete {
        /// The sessions: their ids, the beginnings of them, or `last`
        #[arg(value_name = "ID", required_unless_present = "older_than")]
        ids: Vec<String>,
        /// All that nothing was added to for so long, for example 30d, 12h or 90m
        #[arg(long, value_name = "TIME", value_parser = age, conflicts_with = "ids")]
        older_than: Option<Duration>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove what is over and too old, with clips and files; what runs or waits for a person stays
    Prune {
        /// All that nothing was added to for so long, for example 30d, 12h or 90m [default: days of the retention]
        #[arg(long, value_name = "TIME", value_parser = age)]
        older_than: Option<Duration>,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Write one to a file or to standard output
    Export {
        /// The session: its id, the beginning of it, or `last`
        id: String,
        #[arg(long = "as", value_name = "FORM", default_value = "txt")]
        form: Form,
        /// The file [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// A time such as `30d`, in weeks, days, hours, minutes or seconds.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and its unit, for example 30d, 12h or 90m".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let seconds = match unit {
        'w' => 7 * 24 * 3600,
        'd' => 24 * 3600,
        'h' => 3600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// Which memories are forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forget {
    All,
    /// Counted from 1.
    Number(usize),
}

fn forget(text: &str) -> Result<Forget, String> {
    match text {
        "all" => Ok(Forget::All),
        _ => text.parse().map(Forget::Number).map_err(|_| "write the number of a memory, or all".to_owned()),
    }
}

/// How a fork goes on otherwise. `--model NAME=MODEL` gives one agent another model.
#[derive(Debug, ClapArgs)]
pub(crate) struct Otherwise {
    /// What the line at that record reads instead
    #[arg(long, value_name = "WORDS")]
    pub(crate) edit: Option<String>,
    /// What the agents are told before their next turn
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Whom alone the note is for
    #[arg(long, value_name = "NAME", requires = "note")]
    pub(crate) to: Option<String>,
    /// Who an agent is from there on, in the words of a file
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file)]
    pub(crate) persona: Vec<(String, PathBuf)>,
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write it as NAME=FILE, for example bob=bob-in-love.md")?;
    Ok((name.trim().to_owned(), PathBuf::from(file.trim())))
}

/// What may be different from here on.
#[derive(Debug, ClapArgs)]
pub(crate) struct Change {
    /// Another number of rounds, or of beats
    #[arg(long, visible_alias = "max-beats", value_name = "N")]
    pub(crate) max_rounds: Option<u32>,
    /// Another limit in dollars
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// Another limit in tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Another limit in seconds
    #[arg(long, value_name = "N")]
    pub(crate) max_seconds: Option<u64>,
    /// Where a scene's transcript goes [default: data/scenes]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Form {
    Txt,
    Md,
    Json,
    /// Captions with the times of the mix
    Vtt,
    Srt,
    /// All clips in one file
    Wav,
    /// As wav, where ffmpeg is installed
    Mp3,
    Opus,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Bring everything from one store into another; clips and files stay where they are
    Copy {
        /// The store that is copied, as for --store; nobody may run its sessions meanwhile
        from: String,
        /// The store that it is copied to, made when it is not there
        to: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    /// List providers and models: usable now, or why not
    List,
    /// Fetch an embedded model into the user's cache folder
    Pull {
        /// Which, as `models list` names them, or hf:OWNER/REPO/FILE.gguf [default: the largest that suits this
        /// machine]
        name: Option<String>,
        /// Take it from this file, if it is the right one
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Voices {
    /// List speech engines and voice profiles
    List,
    /// Fetch an engine's files into the user's cache folder
    Pull {
        /// Which [default: the one that would speak here, if it can be fetched]
        engine: Option<Pullable>,
    },
    /// Speak a text into a WAV file
    Say {
        /// The text, `-` for standard input, or `@FILE`
        text: String,
        /// A voice profile, as `voices list` names them
        #[arg(long, default_value = "warm_reflective", value_name = "PROFILE")]
        voice: String,
        /// How it is said, in a word: furious, tender, …
        #[arg(long, value_name = "TONE")]
        tone: Option<String>,
        /// The file
        #[arg(long, default_value = "say.wav", value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Pullable {
    Kokoro,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Templates {
    /// List them: what each is for, and its variables
    List,
    /// Print one as it is, to begin one's own with
    Show {
        /// The template, as `list` names them
        name: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Ask each usable provider one cheap question, and say how it went
    #[arg(long)]
    pub(crate) live: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Bench {
    /// Only the cases whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// What the embedded model costs here instead, or another one by its name
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub(crate) local: Option<String>,
    /// Run one case in this process (the bench starts itself once per case, so that memory is its own)
    #[arg(long, hide = true, value_name = "NAME")]
    pub(crate) case: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Completions for bash, zsh, fish and PowerShell
    Completions {
        /// The folder that they are written to
        dir: PathBuf,
    },
    /// A man page for each command
    Man {
        /// The folder that they are written to
        dir: PathBuf,
    },
}
