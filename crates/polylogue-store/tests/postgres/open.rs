//! What a store says when it cannot be opened, and who is let in.

use futures_util::future::join_all;
use polylogue_runtime::{
    conformance::example::{NODE, id, records, started},
    port::Journal,
};
use polylogue_store::PostgresJournal;

use crate::server::{Server, elsewhere, in_new_schema, new_store, open, url};

async fn refusal(url: &str) -> String {
    let error = PostgresJournal::open(url, None).await.expect_err(url).to_string();
    assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    error
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_says_what_to_do() {
    let foreign = new_store();
    let (_, schema) = foreign.split_once("?schema=").expect("a schema");
    let somebody = elsewhere(&foreign).await;
    somebody
        .batch_execute(&format!("CREATE SCHEMA {schema}; CREATE TABLE bookmarks (url text)"))
        .await
        .expect("a table");
    let newer = new_store();
    open(&newer).await;
    elsewhere(&newer).await.execute("UPDATE polylogue_store SET version = 99", &[]).await.expect("a version");
    let at = url();
    let (login, place) = at.split_once('@').expect("a user");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port();
    for (url, expected) in [
        (foreign.clone(), "has other tables than Polylogue's"),
        (newer, "was written by a newer Polylogue (store version 99, this one reads up to 7)"),
        (at.replace("polylogue:secret", "polylogue:wrong-secret"), "check the user, the password and the database"),
        (
            format!("{login}@{}", place.replace("/postgres", "/nowhere")),
            "check the user, the password and the database",
        ),
        (format!("{login}@127.0.0.1:{closed}/postgres"), "cannot be reached (connection refused)"),
        ("postgres://me:secret@127.0.0.1/".to_owned(), "cannot be understood"),
    ] {
        let error = refusal(&url).await;
        assert!(error.contains(expected), "{error}");
    }
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'");
    let tables: i64 = somebody.query_one(&tables, &[]).await.expect("a count").get(0);
    assert_eq!(tables, 1, "what is not a store is left as it is");
}

#[tokio::test]
async fn a_store_made_by_many_at_once_is_one() {
    let url = new_store();
    let stores = join_all((0..6).map(|_| open(&url))).await;
    stores[0].append(id(1), records(0, 100, [started(id(1), "goal")]), NODE).await.expect("a new session");
    assert_eq!(stores[5].find("", 9).await, Ok(vec![id(1)]));
}

/// Somebody who may not make a schema can use one that was made for them.
#[tokio::test]
async fn a_user_with_few_rights_is_told_which_are_missing() {
    let store = new_store();
    let (_, schema) = store.split_once("?schema=").expect("a schema");
    let owner = elsewhere(&store).await;
    owner.batch_execute(&format!("CREATE ROLE {schema} LOGIN PASSWORD 'secret'")).await.expect("a user");
    let theirs = store.replace("polylogue:", &format!("{schema}:"));
    let error = refusal(&theirs).await;
    assert!(error.contains("may not make tables there"), "{error}");
    owner.batch_execute(&format!("CREATE SCHEMA {schema} AUTHORIZATION {schema}")).await.expect("a schema");
    let without = theirs.replace(":secret@", "@");
    assert!(PostgresJournal::open(&without, None).await.is_err());
    PostgresJournal::open(&without, Some("secret")).await.expect("the password came by another way");
}

/// The connection is encrypted when it is asked for, and a certificate that nobody trusts is not believed when
/// somebody is to be trusted.
#[tokio::test]
async fn tls_is_what_the_address_says() {
    let server = Server::start();
    let store = in_new_schema(&server.url);
    let certificate = server.folder.path().join("server.crt");
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE ssl AND application_name = 'polylogue'";
    for (options, is_encrypted) in [
        ("&sslmode=disable".to_owned(), false),
        (String::new(), true),
        ("&sslmode=require".to_owned(), true),
        (format!("&sslmode=verify-full&sslrootcert={}", certificate.display()), true),
    ] {
        let journal = open(&format!("{store}{options}")).await;
        let count: i64 = elsewhere(&store).await.query_one(encrypted, &[]).await.expect("a count").get(0);
        assert_eq!(count > 0, is_encrypted, "{options}");
        journal.close();
        drop(journal);
        // The server may not have noticed yet that the last one is gone.
        let gone = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'polylogue'";
        let looker = elsewhere(&store).await;
        while looker.query_one(gone, &[]).await.expect("a count").get::<_, i64>(0) > 0 {
            tokio::task::yield_now().await;
        }
    }
    let unknown = refusal(&format!("{store}&sslmode=verify-full")).await;
    assert!(unknown.contains("cannot be reached (invalid peer certificate"), "{unknown}");
    let nothing = refusal(&format!("{store}&sslrootcert=nowhere.pem")).await;
    assert!(nothing.contains("`nowhere.pem`, which holds no certificates"), "{nothing}");
}
