//! `polylogue sessions export`: a session as text, captions or one sound file.

use std::{path::PathBuf, process::ExitCode};

use polylogue_core::{
    Conversation,
    id::SessionId,
    projection::{self, Placed, audible, timeline},
    text::printable::{printable, printable_json},
};
use polylogue_providers::speech::{AudioFormat, mix};

use crate::{args::Form, engine::Engine, failure::Failure, output};

pub(super) async fn run(engine: &Engine, id: SessionId, form: Form, out: Option<PathBuf>) -> Result<ExitCode, Failure> {
    let conversation = engine.hub.conversation(id).await?;
    let text = match form {
        // A file that people read steers their terminal no more than what is printed does.
        Form::Txt => printable(&projection::plain_text(&conversation)).into_owned(),
        Form::Md => printable(&projection::markdown(&conversation)).into_owned(),
        Form::Json => {
            let json = serde_json::to_string_pretty(&engine.hub.outcome(&conversation).await?);
            format!("{}\n", printable_json(json.expect("a result has string keys")))
        }
        Form::Vtt => printable(&projection::vtt(&captioned(&conversation))).into_owned(),
        Form::Srt => printable(&projection::srt(&captioned(&conversation))).into_owned(),
        Form::Wav => return sound(engine, &conversation, AudioFormat::Wav, out).await,
        Form::Mp3 => return sound(engine, &conversation, AudioFormat::Mp3, out).await,
        Form::Opus => return sound(engine, &conversation, AudioFormat::Opus, out).await,
    };
    match out {
        None => output::text(text),
        Some(path) => std::fs::write(&path, text)
            .map_err(|error| Failure::request(format!("{} cannot be written: {}", path.display(), error.kind())))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What captions stand beside. Where there is nothing to hear there are none, and the person is told why.
fn captioned(conversation: &Conversation) -> Vec<Placed> {
    let heard = heard(conversation);
    if heard.is_empty() {
        output::notice("no line of the session has a clip, so there are no captions");
    }
    heard
}

fn heard(conversation: &Conversation) -> Vec<Placed> {
    timeline(&audible(conversation))
}

/// A sound file does not go to a terminal: without a name it is called after the session.
async fn sound(
    engine: &Engine,
    conversation: &Conversation,
    format: AudioFormat,
    out: Option<PathBuf>,
) -> Result<ExitCode, Failure> {
    let ending = match format {
        AudioFormat::Wav => "wav",
        AudioFormat::Mp3 => "mp3",
        AudioFormat::Opus => "opus",
    };
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.{ending}", conversation.stage().setup().id)));
    let mixed = mix(heard(conversation), engine.artifacts.clone(), out.clone(), format).await;
    let mixed = mixed.map_err(|error| Failure::request(error.to_string()))?;
    output::line(format!("{} · {:.1} s", out.display(), mixed.duration_ms as f64 / 1000.0));
    Ok(ExitCode::SUCCESS)
}
