//! Measures one thing: the time that a group of waiting appends takes in one transaction, with each client.
//!
//! Both send the same two statements between BEGIN and COMMIT: the fence of all sessions of the group, and their
//! records. `tokio-postgres` can send all four at once; `sqlx` waits for the answer to each. So they are measured side
//! by side on loopback, and through a relay that holds up what it carries as a network between two machines does.

use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, Pool};
use futures_util::future::try_join4;
use sqlx::{Connection, Executor};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant as Moment, sleep_until},
};
use tokio_postgres::NoTls;
use uuid::Uuid;

const TABLES: &str = "DROP TABLE IF EXISTS clients_journal, clients_sessions;
    CREATE TABLE clients_sessions (id uuid PRIMARY KEY, head bigint NOT NULL);
    CREATE TABLE clients_journal (session_id uuid, seq bigint, at bigint, event text, PRIMARY KEY (session_id, seq))";
const FENCE: &str = "UPDATE clients_sessions AS s SET head = b.head
    FROM unnest($1::uuid[], $2::bigint[]) AS b (id, head) WHERE s.id = b.id AND s.head = b.head - 2";
const RECORDS: &str =
    "INSERT INTO clients_journal SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[])";

const RECORDS_OF_AN_APPEND: i64 = 2;
const GROUPS: usize = 200;

/// One group as the columns that are sent.
struct Group {
    ids: Vec<Uuid>,
    heads: Vec<i64>,
    sessions: Vec<Uuid>,
    seqs: Vec<i64>,
    ats: Vec<i64>,
    events: Vec<String>,
}

fn group(ids: &[Uuid], turn: i64) -> Group {
    let head = (turn + 1) * RECORDS_OF_AN_APPEND;
    let places = || ids.iter().flat_map(move |id| (head - RECORDS_OF_AN_APPEND + 1..=head).map(move |seq| (*id, seq)));
    Group {
        ids: ids.to_vec(),
        heads: vec![head; ids.len()],
        sessions: places().map(|(id, _)| id).collect(),
        seqs: places().map(|(_, seq)| seq).collect(),
        ats: places().map(|(_, seq)| seq).collect(),
        events: places().map(|_| "x".repeat(600)).collect(),
    }
}

type Problem = Box<dyn std::error::Error>;

async fn with_tokio_postgres(url: &str, ids: &[Uuid]) -> Result<Duration, Problem> {
    let pool = Pool::builder(Manager::new(url.parse()?, NoTls)).max_size(1).build()?;
    let begun = Instant::now();
    for turn in 0..GROUPS {
        let g = group(ids, turn as i64);
        let client = pool.get().await?;
        let (fence, records) = (client.prepare_cached(FENCE).await?, client.prepare_cached(RECORDS).await?);
        let (fenced, written): (
            [&(dyn tokio_postgres::types::ToSql + Sync); 2],
            [&(dyn tokio_postgres::types::ToSql + Sync); 4],
        ) = ([&g.ids, &g.heads], [&g.sessions, &g.seqs, &g.ats, &g.events]);
        let (_, moved, _, _) = try_join4(
            client.batch_execute("BEGIN"),
            client.execute(&fence, &fenced),
            client.execute(&records, &written),
            client.batch_execute("COMMIT"),
        )
        .await?;
        assert_eq!(moved, ids.len() as u64);
    }
    Ok(begun.elapsed())
}

async fn with_sqlx(url: &str, ids: &[Uuid]) -> Result<Duration, Problem> {
    let mut client = sqlx::PgConnection::connect(url).await?;
    let begun = Instant::now();
    for turn in 0..GROUPS {
        let g = group(ids, turn as i64);
        let mut transaction = client.begin().await?;
        let moved = sqlx::query(FENCE).bind(&g.ids).bind(&g.heads).execute(&mut *transaction).await?;
        assert_eq!(moved.rows_affected(), ids.len() as u64);
        let records = sqlx::query(RECORDS).bind(&g.sessions).bind(&g.seqs).bind(&g.ats).bind(&g.events);
        records.execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    Ok(begun.elapsed())
}

/// Carries bytes one way, each for this long.
async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin + Send + 'static, delay: Duration) {
    let (sent, mut arrived) = mpsc::unbounded_channel::<(Moment, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((at, bytes)) = arrived.recv().await {
            sleep_until(at).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let _ = sent.send((Moment::now() + delay, bytes[..length].to_vec()));
    }
}

/// The port of a relay to this one.
async fn relay(port: u16, delay: Duration) -> Result<u16, Problem> {
    let door = TcpListener::bind("127.0.0.1:0").await?;
    let at = door.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = door.accept().await {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            tokio::spawn(carry(from_client, to_server, delay));
            tokio::spawn(carry(from_server, to_client, delay));
        }
    });
    Ok(at)
}

async fn compare(url: &str, admin: &mut sqlx::PgConnection) -> Result<(), Problem> {
    println!("appends in a group | tokio-postgres, µs | sqlx, µs (means of {GROUPS} groups, best of three rounds)");
    for appends in [1, 10, 100, 1_000] {
        let mut best = [Duration::MAX; 2];
        for _ in 0..3 {
            for (client, best) in best.iter_mut().enumerate() {
                let ids: Vec<Uuid> = (0..appends).map(|_| Uuid::new_v4()).collect();
                admin.execute(TABLES).await?;
                let begin = sqlx::query("INSERT INTO clients_sessions SELECT unnest($1::uuid[]), 0").bind(&ids);
                begin.execute(&mut *admin).await?;
                let took =
                    if client == 0 { with_tokio_postgres(url, &ids).await? } else { with_sqlx(url, &ids).await? };
                *best = took.min(*best);
            }
        }
        let [tokio_postgres, sqlx] = best.map(|best| best.as_micros() / GROUPS as u128);
        println!("{appends:>18} | {tokio_postgres:>18} | {sqlx:>8}");
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Problem> {
    let url = std::env::var("POLYLOGUE_TEST_POSTGRES").map_err(|_| "run this by scripts/postgres.sh run")?;
    let url = format!("{url}?sslmode=disable");
    let port: u16 = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok()).ok_or("no port")?;
    let mut admin = sqlx::PgConnection::connect(&url).await?;
    println!("On loopback:");
    compare(&url, &mut admin).await?;
    println!("A millisecond away, each way:");
    let away = relay(port, Duration::from_millis(1)).await?;
    compare(&url.replace(&format!(":{port}/"), &format!(":{away}/")), &mut admin).await?;
    admin.execute("DROP TABLE clients_journal, clients_sessions").await?;
    Ok(())
}
