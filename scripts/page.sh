#!/usr/bin/env bash
# The page: `scripts/page.sh build` makes the files that the binary embeds, `scripts/page.sh check` looks whether those
# that are committed are what the source gives.
set -euo pipefail
cd "$(dirname "$0")/../web"

# Not `npm ci`: it wants every platform's native packages in the lock file, and not every registry has them.
npm install --no-save --no-audit --no-fund --loglevel error

case "${1:-}" in
build)
  npm run --silent types
  npm run --silent check
  npm run --silent build
  ;;
check)
  made=$(mktemp -d)
  trap 'rm -rf "$made"' EXIT
  npx openapi-typescript openapi.json -o "$made/schema.d.ts" >/dev/null
  cmp src/api/schema.d.ts "$made/schema.d.ts" || { echo "web/src/api/schema.d.ts is old: run scripts/page.sh build" >&2; exit 1; }
  npm run --silent check
  npm run --silent test
  npx vite build --outDir "$made/dist" --emptyOutDir --logLevel warn
  diff -rq dist "$made/dist" || { echo "web/dist is not what the source gives: run scripts/page.sh build" >&2; exit 1; }
  ;;
*)
  echo "scripts/page.sh build|check" >&2
  exit 2
  ;;
esac
