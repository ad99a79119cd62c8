//! A server on this machine, for tests.

use axum::Router;
use tokio::net::TcpListener;

/// Serves until the test's runtime ends; answers with the address to reach it by.
pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}
