#!/bin/sh
# Asks a server one question of each kind with httpie, and fails on the first answer that is none.
#
#   CSTP_URL=https://host:8100 CSTP_TOKEN=cstp_... sh examples/smoke.sh [OPTIONS OF HTTPIE, such as --verify=ca.pem]
set -eu
: "${CSTP_URL:?say where the server is, such as https://127.0.0.1:8100}"
: "${CSTP_TOKEN:?make a token with: cstp token create --agent smoke}"

# in a file, since the arguments of a process can be read by others on the machine
header=$(mktemp)
trap 'rm -f "$header"' EXIT
printf 'Bearer %s' "$CSTP_TOKEN" >"$header"

call() { # METHOD PARAMS OPTIONS...: fails on an error
  method=$1 params=$2
  shift 2
  answer=$(http --ignore-stdin --check-status --body "$@" POST "$CSTP_URL/cstp" "Authorization:@$header" \
    jsonrpc=2.0 id:=1 method="$method" params:="$params")
  case $answer in
  *'"result":'*) printf '%s: ok\n' "$method" ;;
  *) printf '%s: %s\n' "$method" "$answer" >&2 && exit 1 ;;
  esac
}

call cstp.whoami '{}' "$@"
call cstp.queryDecisions '{"query": "storage", "limit": 3}' "$@"
call cstp.getDecisions '{"topic": "indexes"}' "$@"
call cstp.getPatterns '{"topic": "search"}' "$@"
call cstp.getWarnings '{"topic": "chroma"}' "$@"
call cstp.searchKnowledge '{"query": "backup", "limit": 3}' "$@"
call cstp.listEpisodes '{"limit": 3}' "$@"
call cstp.recall '{"query": "incident", "limit": 3}' "$@"
