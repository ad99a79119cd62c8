//! Speech from the command line, for `tests/speech/run`: fetch Kokoro, speak a sentence in every profile, mix a
//! conversation. Each clip is told as one JSON line.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use polylogue_artifacts::Folder;
use polylogue_core::{
    id::Seq,
    projection::{Audible, srt, timeline, vtt},
    text::spoken::spoken,
};
use polylogue_providers::{
    download::{Progress, Watch},
    speech::{AudioFormat, EngineName, Profiles, Speaker, SpeechSettings, kokoro, mix},
};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["pull", cache] => pull(Path::new(cache)).await,
        ["standings", cache] => standings(Path::new(cache)).await,
        ["all", engine, cache, out, text] => all(engine, cache, out, text).await,
        ["say", engine, cache, out, profile, text] => say(engine, cache, out, profile, text).await,
        ["stop", engine, cache, out] => stop(engine, cache, out).await,
        ["mix", engine, cache, out] => conversation(engine, cache, out).await,
        _ => Err("usage: speech pull|standings CACHE, all ENGINE CACHE OUT TEXT, say ENGINE CACHE OUT PROFILE TEXT, mix|stop ENGINE CACHE OUT".into()),
    }
}

async fn pull(cache: &Path) -> Outcome {
    let told: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let watch: Watch = Arc::new(move |progress: Progress| {
        let tenth = progress.total_bytes.map_or(0, |total| progress.done_bytes * 10 / total.max(1));
        let mut told = told.lock().expect("unpoisoned");
        if told.insert(progress.what.clone(), tenth) != Some(tenth) {
            eprintln!("{} {} of {:?} bytes", progress.what, progress.done_bytes, progress.total_bytes);
        }
    });
    let start = Instant::now();
    kokoro::pull(cache, &watch).await?;
    println!("{}", json!({ "pulled": kokoro::is_pulled(cache), "seconds": start.elapsed().as_secs_f64() }));
    Ok(())
}

async fn standings(cache: &Path) -> Outcome {
    let settings = SpeechSettings { cache: cache.to_owned(), ..SpeechSettings::default() };
    for standing in settings.standings().await {
        println!("{}: {:?}", standing.engine, standing.state);
    }
    Ok(())
}

fn speaker(engine: &str, cache: &str, out: &str) -> Result<Speaker, Box<dyn Error>> {
    let engine: EngineName = engine.parse()?;
    let settings = SpeechSettings { engine: Some(engine), cache: cache.into(), ..SpeechSettings::default() };
    let engines = settings.engines().into_iter().filter(|candidate| candidate.name() == engine).collect();
    let artifacts = PathBuf::from(out).join("artifacts");
    Ok(Speaker::new(Arc::new(Folder::new(&artifacts)), &artifacts, Profiles::default(), engines))
}

async fn all(engine: &str, cache: &str, out: &str, text: &str) -> Outcome {
    let speaker = speaker(engine, cache, out)?;
    for profile in speaker.profiles().iter() {
        let path = Path::new(out).join(format!("{engine}-{}.wav", profile.name));
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let clip = speaker.say(text, profile, None, &path).await?;
        println!("{}", told(&clip, start, cpu));
    }
    Ok(())
}

async fn say(engine: &str, cache: &str, out: &str, profile: &str, text: &str) -> Outcome {
    let speaker = speaker(engine, cache, out)?;
    let path = Path::new(out).join(format!("{engine}-said.wav"));
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let clip = speaker.say(text, speaker.profiles().get(profile)?, None, &path).await?;
    println!("{}", told(&clip, start, cpu));
    Ok(())
}

/// Speaks a long line, stops it under way, and sees how soon the next line can be spoken.
async fn stop(engine: &str, cache: &str, out: &str) -> Outcome {
    let speaker = speaker(engine, cache, out)?;
    let profile = speaker.profiles().get("warm_reflective")?;
    let path = Path::new(out).join(format!("{engine}-stopped.wav"));
    let long = "Nobody remembers who first put the lantern on the hill, or why it is lit every evening. ".repeat(20);
    speaker.say("Ready.", profile, None, &path).await?;
    let said = tokio::time::timeout(Duration::from_millis(1500), speaker.say(&long, profile, None, &path)).await;
    let start = Instant::now();
    speaker.say("And now for something else.", profile, None, &path).await?;
    println!("{}", json!({ "was_stopped": said.is_err(), "next_line_seconds": start.elapsed().as_secs_f64() }));
    Ok(())
}

fn told(clip: &polylogue_core::line::Clip, start: Instant, cpu_before: f64) -> serde_json::Value {
    let seconds = start.elapsed().as_secs_f64();
    json!({
        "path": clip.path,
        "profile": clip.voice,
        "duration_ms": clip.duration_ms,
        "loudness_lufs": clip.loudness_lufs,
        "seconds": seconds,
        "real_time_factor": seconds * 1000.0 / clip.duration_ms as f64,
        "cpu_factor": (cpu_seconds() - cpu_before) * 1000.0 / clip.duration_ms as f64,
        "peak_memory_mb": peak_memory_mb(),
    })
}

/// What this process has used of the processor, where the system tells. On a busy machine it says more than a clock.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th after it, in 1/100 s.
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that this process has had, where the system tells.
fn peak_memory_mb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb / 1024)
}

/// A short scene with an interruption, as clips, mix and captions.
async fn conversation(engine: &str, cache: &str, out: &str) -> Outcome {
    let speaker = speaker(engine, cache, out)?;
    let lines = [
        ("alice", "dry_precise", r#"[TONE: stern] "We need to talk about the Henderson project. Now.""#, None),
        (
            "bob",
            "confident_charming",
            "Look, I can explain what happened with the client last week.",
            Some("I can explain"),
        ),
        ("alice", "dry_precise", "I don't want *excuses*! We lost them.", None),
        ("charlie", "playful_expressive", "Maybe we should all sit down?", None),
    ];
    let artifacts = PathBuf::from(out).join("artifacts");
    let mut audible = Vec::new();
    for (at, (who, profile, text, cut_after)) in lines.into_iter().enumerate() {
        let path = format!("{engine}-line-{at}.wav");
        let mut clip = speaker.say(text, speaker.profiles().get(profile)?, None, &artifacts.join(&path)).await?;
        clip.path = path;
        let cut_after = cut_after.map(Arc::from);
        audible.push(Audible { cut_after, ..Audible::new(Seq(at as u64 + 1), who, spoken(text), clip) });
    }
    let timeline = timeline(&audible);
    for (format, ending) in [(AudioFormat::Wav, "wav"), (AudioFormat::Mp3, "mp3"), (AudioFormat::Opus, "opus")] {
        let path = Path::new(out).join(format!("{engine}-mix.{ending}"));
        let mixed = mix(timeline.clone(), Arc::new(Folder::new(&artifacts)), path.clone(), format).await?;
        println!("{}", json!({ "path": path, "duration_ms": mixed.duration_ms }));
    }
    fs::write(Path::new(out).join(format!("{engine}-mix.vtt")), vtt(&timeline))?;
    fs::write(Path::new(out).join(format!("{engine}-mix.srt")), srt(&timeline))?;
    print!("{}", vtt(&timeline));
    Ok(())
}
