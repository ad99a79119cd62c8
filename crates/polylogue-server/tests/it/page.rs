//! The page: its files are in the binary, and nothing of it can load or send anything elsewhere.

use crate::{client::open, house::Wanted};

const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml");

#[tokio::test]
async fn the_page_is_there_with_all_its_files() {
    let mut wanted = Wanted::good(1);
    // Who has no token yet needs the page to enter one.
    wanted.settings = |settings| settings.tokens = ["secret".to_owned()].into();
    let server = wanted.start().await;
    let get =
        async |path: &str, headers: &[(&str, &str)]| open(server.at, "GET", path, headers, "").await.whole().await;

    let page = get("/", &[]).await;
    assert_eq!((page.status, page.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"));
    assert_eq!(page.headers["cache-control"], "no-cache");
    let policy = &page.headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");

    let text = page.text();
    let files: Vec<&str> =
        text.split('"').filter(|part| part.starts_with('/') && part.contains('.') && !part.contains(' ')).collect();
    assert!(
        files.iter().any(|file| file.ends_with(".js")) && files.iter().any(|file| file.ends_with(".css")),
        "{text}"
    );
    for file in files {
        let answer = get(file, &[]).await;
        assert_eq!(answer.status, 200, "{file}");
        assert!(!answer.body.is_empty() && !answer.headers["content-type"].starts_with("text/html"), "{file}");
        let tag = answer.headers["etag"].as_str();
        let again = get(file, &[("if-none-match", tag)]).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{file}");
    }
}

#[tokio::test]
async fn an_address_of_the_page_is_the_page_and_a_mistyped_one_of_the_api_is_not() {
    let server = Wanted::good(1).start().await;
    for (method, path, headers, status) in [
        ("GET", "/chorus/00000000-0000-4000-8000-000000000000", &[HTML][..], 200),
        ("GET", "/replay/x?at=3", &[HTML], 200),
        ("HEAD", "/sessions", &[HTML], 200),
        ("GET", "/sessions", &[], 404),
        ("GET", "/v1/session", &[HTML], 404),
        ("GET", "/api/nothing", &[HTML], 404),
        ("GET", "/assets/gone.js", &[HTML], 404),
        ("GET", "/../Cargo.toml", &[], 404),
        ("POST", "/chorus", &[HTML], 404),
    ] {
        let answer = open(server.at, method, path, headers, "").await.whole().await;
        assert_eq!(answer.status, status, "{method} {path}");
    }
}
