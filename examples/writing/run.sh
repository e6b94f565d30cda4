#!/bin/sh
# One server over an empty folder, a token for each of three agents, and two scripts. Nothing is left behind.
set -eu
cd "$(dirname "$0")"
data=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$data"' EXIT

token() { # AGENT SCOPES
  cstp token create --data-dir "$data" --agent "$1" --scope "$2" --quiet
}
BUILDER_TOKEN=$(token builder read,write)
REVIEWER_TOKEN=$(token reviewer read,review)
LEAD_TOKEN=$(token lead read,write,review,ratify)
export BUILDER_TOKEN REVIEWER_TOKEN LEAD_TOKEN

port=${CSTP_SERVER__PORT:-8103}
CSTP_URL=http://127.0.0.1:$port
export CSTP_URL
cstp serve --data-dir "$data" --port "$port" 2>"$data/log" &
server=$!
until CSTP_TOKEN=$LEAD_TOKEN cstp call cstp.whoami --json >/dev/null 2>&1; do
  kill -0 "$server" || { cat "$data/log" >&2; exit 1; }
  sleep 0.2
done

python decide.py
python rights.py
