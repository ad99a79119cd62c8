//! Both remote engines against a server on this machine: what is sent, what is read, and every way to fail.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{
    Secret,
    loopback::serve,
    speech::{
        elevenlabs::ElevenLabs,
        engine::{Engine, EngineError},
        manner::Manner,
        openai::OpenAi,
        profiles::Profiles,
        sound::Sound,
        wav,
    },
};

/// What the server was asked.
#[derive(Clone, Debug)]
struct Asked {
    target: String,
    key: String,
    body: Value,
}

type Log = Arc<Mutex<Vec<Asked>>>;

/// A server that notes every request and answers the n-th with `answer(n)`.
async fn server(answer: impl Fn(usize) -> Response + Clone + Send + Sync + 'static) -> (String, Log) {
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let noted = log.clone();
    let router = Router::new().fallback(move |request: Request| {
        let (noted, count, answer) = (noted.clone(), count.clone(), answer.clone());
        async move {
            let headers = request.headers().clone();
            let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("").to_owned());
            let key = text("xi-api-key").or_else(|| text("authorization")).unwrap_or_default();
            let target = format!("{} {}", request.method(), request.uri());
            let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            noted.lock().expect("unpoisoned").push(Asked { target, key, body });
            answer(count.fetch_add(1, Ordering::SeqCst))
        }
    });
    (serve(router).await, log)
}

/// A second and a bit of sound.
fn samples() -> Vec<i16> {
    (0..25_777).map(|n| ((f64::from(n) * 0.07).sin() * 9000.0) as i16).collect()
}

fn pcm() -> Vec<u8> {
    samples().iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

fn wav_file() -> Vec<u8> {
    let sound = Sound::from_s16le(24_000, &pcm());
    let file = wav::write_beside(&sound, &std::env::temp_dir().join("x")).expect("written");
    std::fs::read(file.path()).expect("read")
}

#[derive(Clone, Copy, Debug)]
enum Vendor {
    ElevenLabs,
    OpenAi,
}

const VENDORS: [Vendor; 2] = [Vendor::ElevenLabs, Vendor::OpenAi];

impl Vendor {
    fn engine(self, base: &str) -> Box<dyn Engine> {
        let base = Some(format!("{base}/v1/"));
        match self {
            Vendor::ElevenLabs => Box::new(ElevenLabs::new(
                Secret::new("sk-secret").expect("a key"),
                base.map(|base| base.replace("/v1/", "/")),
                None,
            )),
            Vendor::OpenAi => Box::new(OpenAi::new(Secret::new("sk-secret"), base, None)),
        }
    }

    fn good(self) -> Response {
        match self {
            Vendor::ElevenLabs => ([(header::CONTENT_TYPE, "audio/pcm")], pcm()).into_response(),
            Vendor::OpenAi => ([(header::CONTENT_TYPE, "audio/wav")], wav_file()).into_response(),
        }
    }
}

async fn say(engine: &dyn Engine) -> Result<Sound, EngineError> {
    let profiles = Profiles::default();
    let profile = profiles.get("dry_precise").expect("built in");
    engine.say("Hello there.", profile, &Manner::of_tone(Some("furious"))).await
}

#[tokio::test]
async fn the_right_request_brings_the_right_sound() {
    for vendor in VENDORS {
        let (base, log) = server(move |_| vendor.good()).await;
        let sound = say(&*vendor.engine(&base)).await.expect("spoken");
        assert_eq!(sound.rate, 24_000, "{vendor:?}");
        // The samples are those of the server; only the ends are faded.
        assert_eq!(sound.samples.len(), samples().len(), "{vendor:?}");
        let middle = Sound::from_s16le(24_000, &pcm()).samples[10_000];
        assert!((sound.samples[10_000] - middle).abs() < 1e-3, "{vendor:?}");
        let asked = log.lock().expect("unpoisoned")[0].clone();
        match vendor {
            Vendor::ElevenLabs => {
                assert_eq!(asked.target, "POST /v1/text-to-speech/onwK4e9ZLuTAKqWW03F9?output_format=pcm_24000");
                assert_eq!(asked.key, "sk-secret");
                let expected = json!({
                    "text": "Hello there.",
                    "model_id": "eleven_multilingual_v2",
                    "voice_settings": {
                        "stability": 0.55, "similarity_boost": 0.75, "style": 0.35, "use_speaker_boost": true, "speed": 1.05,
                    },
                });
                assert_eq!(asked.body, expected);
            }
            Vendor::OpenAi => {
                assert_eq!((asked.target.as_str(), asked.key.as_str()), ("POST /v1/audio/speech", "Bearer sk-secret"));
                let expected = json!({
                    "model": "gpt-4o-mini-tts",
                    "voice": "onyx",
                    "input": "Hello there.",
                    "response_format": "wav",
                    "instructions": "Dry and precise, understated, every consonant in its place. Tone: furious.",
                });
                assert_eq!(asked.body, expected);
            }
        }
    }
}

#[tokio::test]
async fn other_servers_of_the_protocol_are_understood() {
    // A server of one's own: no key, another model that takes a speed, raw samples.
    let (base, log) = server(|_| ([(header::CONTENT_TYPE, "audio/pcm")], pcm()).into_response()).await;
    let engine = OpenAi::new(None, Some(format!("{base}/v1")), Some("kokoro".to_owned()));
    assert_eq!(say(&engine).await.expect("spoken").samples.len(), samples().len());
    let asked = log.lock().expect("unpoisoned")[0].clone();
    assert_eq!(
        (asked.key.as_str(), &asked.body["speed"], &asked.body["instructions"]),
        ("", &json!(1.08), &Value::Null)
    );
}

/// A body that promises more than comes.
fn torn(kind: &'static str, bytes: Vec<u8>) -> Response {
    let half: [Result<Bytes, std::io::Error>; 1] = [Ok(bytes[..bytes.len() / 2].to_vec().into())];
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_LENGTH, bytes.len().to_string())];
    (headers, Body::from_stream(futures_util::stream::iter(half))).into_response()
}

#[tokio::test]
async fn faults_are_told_apart() {
    type Fault = fn(usize) -> Response;
    let faults: [(&str, Fault, usize, &str); 10] = [
        (
            "401",
            |_| {
                (StatusCode::UNAUTHORIZED, json!({ "detail": { "message": "bad key sk-secret" } }).to_string())
                    .into_response()
            },
            1,
            "does not accept the key: bad key [hidden]",
        ),
        (
            "429",
            |_| {
                (
                    StatusCode::TOO_MANY_REQUESTS,
                    [(header::RETRY_AFTER, "0")],
                    json!({ "error": { "message": "slow down" } }).to_string(),
                )
                    .into_response()
            },
            3,
            "limits the rate of requests: slow down",
        ),
        (
            "429 for long",
            |_| (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "3600")], "").into_response(),
            1,
            "limits the rate of requests: it did not say why",
        ),
        (
            "500",
            |_| (StatusCode::INTERNAL_SERVER_ERROR, [(header::RETRY_AFTER, "0")], "<html>oops</html>").into_response(),
            3,
            "is overloaded or broken (500): it did not say why",
        ),
        (
            "redirect",
            |_| (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/elsewhere")]).into_response(),
            1,
            "rejects the request (307): it did not say why",
        ),
        (
            "400",
            |_| (StatusCode::BAD_REQUEST, json!({ "detail": "no such voice" }).to_string()).into_response(),
            1,
            "rejects the request (400): no such voice",
        ),
        ("empty", |_| ([(header::CONTENT_TYPE, "audio/wav")], "").into_response(), 3, "the answer is empty"),
        ("html", |_| ([(header::CONTENT_TYPE, "text/html")], "<html>hi</html>").into_response(), 1, "it is a web page"),
        (
            "html as audio",
            |_| ([(header::CONTENT_TYPE, "audio/mpeg")], "<!doctype html>").into_response(),
            1,
            "it is a web page",
        ),
        ("json", |_| ([(header::CONTENT_TYPE, "application/json")], "{}").into_response(), 1, "it is text"),
    ];
    for vendor in VENDORS {
        for (name, fault, tries, says) in faults {
            let (base, log) = server(fault).await;
            let error = say(&*vendor.engine(&base)).await.expect_err(name).to_string();
            assert!(error.contains(says), "{vendor:?} {name}: {error}");
            assert!(!error.contains("sk-secret") && !error.contains("127.0.0.1"), "{error}");
            assert_eq!(log.lock().expect("unpoisoned").len(), tries, "{vendor:?} {name}");
        }
    }
}

#[tokio::test]
async fn what_is_torn_is_no_speech() {
    for vendor in VENDORS {
        let (base, _) = server(move |_| match vendor {
            Vendor::ElevenLabs => torn("audio/pcm", pcm()),
            Vendor::OpenAi => torn("audio/wav", wav_file()),
        })
        .await;
        let error = say(&*vendor.engine(&base)).await.expect_err("torn");
        assert!(matches!(error, EngineError::Network { .. }), "{error}");
    }
    // Torn before it reached the server that passes it on, so that only the content tells.
    let cut: [(Vendor, fn() -> Response); 2] = [
        (Vendor::ElevenLabs, || ([(header::CONTENT_TYPE, "audio/pcm")], pcm()[..1001].to_vec()).into_response()),
        (Vendor::OpenAi, || ([(header::CONTENT_TYPE, "audio/wav")], wav_file()[..1000].to_vec()).into_response()),
    ];
    for (vendor, answer) in cut {
        let (base, _) = server(move |_| answer()).await;
        let error = say(&*vendor.engine(&base)).await.expect_err("cut").to_string();
        assert!(error.contains("cut off"), "{error}");
    }
    let nobody = OpenAi::new(None, Some("http://127.0.0.1:1".to_owned()), None);
    let error = say(&nobody).await.expect_err("nobody there").to_string();
    assert!(error.starts_with("the connection to openai failed") && !error.contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_fault_that_passes_is_waited_out() {
    for vendor in VENDORS {
        let (base, log) = server(move |count| match count {
            0 => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "0")], "").into_response(),
            1 => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "0")], "").into_response(),
            _ => vendor.good(),
        })
        .await;
        assert!(say(&*vendor.engine(&base)).await.is_ok());
        assert_eq!(log.lock().expect("unpoisoned").len(), 3);
    }
}
