#!/bin/sh
# Reads the decision records strictly, serves them, and prints the decisions that apply to each word that is given.
set -eu
cd "$(dirname "$0")"
data=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$data"' EXIT
export CSTP_DATA_DIR="$data" CSTP_EMBEDDING__MODEL=none CSTP_SERVER__PORT="${CSTP_SERVER__PORT:-8103}"
CSTP_URL="http://127.0.0.1:$CSTP_SERVER__PORT"
export CSTP_URL

cstp ingest --strict docs/decisions >&2

CSTP_TOKEN=$(cstp token create --agent ci --quiet)
export CSTP_TOKEN
cstp serve 2>"$data/log" &
server=$!
until cstp call cstp.whoami --json >/dev/null 2>&1; do
  kill -0 "$server" || { cat "$data/log" >&2; exit 1; }
  sleep 0.2
done

for word in "$@"; do
  cstp call cstp.queryDecisions query="$word" limit:=3 --json |
    python -c '
import json, sys
for decision in json.load(sys.stdin)["decisions"]:
    print(sys.argv[1] + ":", decision["title"], "(" + decision["status"] + ")")
' "$word"
done
