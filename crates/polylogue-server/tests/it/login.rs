//! A token as a cookie.

use serde_json::json;

use crate::{
    chat::chat,
    client::{Answer, open},
    house::Wanted,
};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_cookie_counts_wherever_the_token_does() {
    let mut wanted = Wanted::good(1);
    wanted.settings = |settings| settings.tokens = ["one; two".to_owned(), "three".to_owned()].into();
    let server = wanted.start().await;
    let ask = async |method: &str, path: &str, headers: &[(&str, &str)], body: String| -> Answer {
        open(server.at, method, path, headers, &body).await.whole().await
    };
    let login = |token: &str| json!({ "token": token }).to_string();
    let refused = ask("POST", "/v1/login", &[JSON], login("four")).await;
    assert_eq!((refused.status, refused.code().as_str()), (401, "UNAUTHORIZED"));
    assert!(!refused.headers.contains_key("set-cookie") && !refused.text().contains("four"));

    for (headers, is_secure) in [(vec![JSON], false), (vec![JSON, ("x-forwarded-proto", "https")], true)] {
        let let_in = ask("POST", "/v1/login", &headers, login("one; two")).await;
        assert_eq!(let_in.status, 204);
        let cookie = &let_in.headers["set-cookie"];
        for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert_eq!(cookie.contains("Secure"), is_secure, "{cookie}");
        assert!(!cookie.contains("one; two"));
    }
    let let_in = ask("POST", "/v1/login", &[JSON], login("one; two")).await;
    let cookie = let_in.headers["set-cookie"].split(';').next().unwrap().to_owned();
    let cookie = ("cookie", cookie.as_str());

    let stream = ask("POST", "/v1/chat", &[JSON, cookie], chat(1).to_string()).await;
    assert_eq!(stream.status, 200);
    let at = stream.text();
    let audio = at.split("\"audioPath\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a clip").to_owned();
    assert_eq!(ask("GET", &format!("/v1/audio/{audio}"), &[], String::new()).await.status, 401);
    assert_eq!(ask("GET", &format!("/v1/audio/{audio}"), &[cookie], String::new()).await.status, 200);
    let id = at.split("\"sessionId\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert_eq!(ask("GET", &format!("/v1/sessions/{id}/events?live=true"), &[cookie], String::new()).await.status, 200);

    let elsewhere = ("origin", "https://elsewhere.example");
    assert_eq!(ask("POST", "/v1/chat", &[JSON, cookie, elsewhere], chat(1).to_string()).await.status, 403);
    let forged = ("cookie", "polylogue_token=666f7572");
    assert_eq!(ask("GET", "/v1/sessions", &[forged], String::new()).await.status, 401);
    let out = ask("POST", "/v1/logout", &[cookie], String::new()).await;
    assert!(out.status == 204 && out.headers["set-cookie"].contains("Max-Age=0"));
    server.stop().await;
}

#[tokio::test]
async fn where_no_token_is_wanted_anybody_is_let_in() {
    let server = Wanted::good(1).start().await;
    let body = json!({"token": "any"}).to_string();
    let let_in = open(server.at, "POST", "/v1/login", &[JSON], &body).await.whole().await;
    assert!(let_in.status == 204 && !let_in.headers.contains_key("set-cookie"));
    server.stop().await;
}
