# The common tasks. `just` lists them.

default:
    @just --list

# Everything that has to pass.
test:
    ./test

# Quick: the tests alone.
nextest *ARGS:
    scripts/postgres.sh run scripts/nats.sh run cargo nextest run {{ARGS}}

# Seeds of the simulation, as many as wanted from any of them on (docs/testing.md). One alone tells what happened.
simulate FROM="0" COUNT="10000":
    SIMULATE_FROM={{FROM}} SIMULATE_COUNT={{COUNT}} cargo test --quiet -p polylogue-runtime --test simulation nothing_is_lost -- --nocapture

lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# What the engine costs, one JSON line per case.
bench *ARGS:
    cargo run --release --quiet -- bench {{ARGS}}

# What a step of the core costs.
bench-core:
    cargo bench -p polylogue-core

# Scores beside AutoGen and llm-council, on the same replies.
peers *ARGS:
    cargo build
    tests/peers/scores/run {{ARGS}}

# Licences, bans and sources of the dependencies.
deny:
    cargo deny check licenses bans sources

# What is handed out, into target/packages/dist: a wheel, a .deb, a tarball.
dist *ARGS:
    scripts/dist.sh {{ARGS}}

# The packages, installed where nothing else is.
packages:
    tests/packages/run

# Look at changed snapshots and keep them.
accept:
    INSTA_UPDATE=always scripts/postgres.sh run scripts/nats.sh run cargo nextest run

# Build the page into web/dist, which the binary embeds.
page:
    scripts/page.sh build

# The page in a real browser, against the debug binary.
page-e2e *ARGS:
    cd web && node test/e2e/run.js {{ARGS}}
