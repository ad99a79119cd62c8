#!/usr/bin/env bash
# A PostgreSQL server for tests and measurements: on loopback, with its data in a folder of its own.
#
#   scripts/postgres.sh run COMMAND…    starts one, runs the command with POLYLOGUE_TEST_POSTGRES set, ends it
#   scripts/postgres.sh start FOLDER    starts the one in the folder, made there if there is none, and prints its URL
#   scripts/postgres.sh stop FOLDER     ends it as a crash would; its data stays
#
# PostgreSQL refuses to run as root: then it runs as the user `postgres`, who gets the folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/install.sh
source "$here/install.sh"

programs() {
  local found
  found=$(find /usr/lib/postgresql/*/bin -name pg_ctl 2>/dev/null | sort -V | tail -1)
  [ -n "$found" ] || found=$(command -v pg_ctl || true)
  [ -n "$found" ] && dirname "$found"
}

# Runs a program of PostgreSQL's as a user who may.
as_server() {
  local program=$bin/$1
  shift
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u postgres -- "$program" "$@")
  else
    "$program" "$@"
  fi
}

make() {
  local folder=$1
  echo "secret" >"$folder/password"
  # The certificate is its own authority, so that clients can be told to trust just it.
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
    -keyout "$folder/server.key" -out "$folder/server.crt" 2>/dev/null
  chmod 600 "$folder/server.key"
  chmod 755 "$folder"
  if [ "$(id -u)" = 0 ]; then chown -R postgres "$folder"; fi
  as_server initdb --pgdata "$folder/data" --username polylogue --pwfile "$folder/password" --auth scram-sha-256 \
    --encoding UTF8 --locale C.UTF-8 --no-sync >"$folder/made" 2>&1 || { cat "$folder/made" >&2; return 1; }
}

start() {
  local folder=$1 try port
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  [ -d "$folder/data" ] || make "$folder"
  for try in 1 2 3 4 5 6 7 8; do
    # A server that was here keeps its port.
    port=$(cat "$folder/port" 2>/dev/null || echo $((20000 + RANDOM % 12000)))
    if as_server pg_ctl --pgdata "$folder/data" --log "$folder/data/log" --wait --silent start -o \
      "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 -c ssl=on \
       -c ssl_cert_file=$folder/server.crt -c ssl_key_file=$folder/server.key ${POSTGRES_OPTIONS:-}" >/dev/null 2>&1; then
      echo "$port" >"$folder/port"
      echo "postgres://polylogue:secret@127.0.0.1:$port/postgres"
      return 0
    fi
  done
  echo "PostgreSQL does not start (the last of $try tries):" >&2
  tail -5 "$folder/data/log" >&2
  return 1
}

stop() {
  as_server pg_ctl --pgdata "$1/data" --mode immediate --wait --silent stop
}

bin=$(programs || true)
if [ -z "$bin" ]; then
  need_packages postgresql >&2
  bin=$(programs)
fi
command -v openssl >/dev/null || need_packages openssl >&2

case "${1:-}" in
run)
  shift
  folder=$(mktemp -d)
  trap 'stop "$folder" || true; rm -rf "$folder"' EXIT
  POLYLOGUE_TEST_POSTGRES=$(start "$folder")
  export POLYLOGUE_TEST_POSTGRES
  "$@"
  ;;
start) start "$2" ;;
stop) stop "$(cd "$2" && pwd)" ;;
*)
  sed -n '2,8p' "$0" >&2
  exit 2
  ;;
esac
