#!/bin/sh
# Writes the decision records as pages that need no server into the folder that is given.
set -eu
pages=$(realpath -m "$1")
cd "$(dirname "$0")"
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
unset CSTP_URL
export CSTP_DATA_DIR="$data" CSTP_EMBEDDING__MODEL=none

cstp ingest --strict docs/decisions >&2
cstp site "$pages" --title "Decisions of the shop"
