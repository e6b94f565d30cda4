#!/bin/sh
# Publishes the decision records to the server at CSTP_URL, with the token in CSTP_TOKEN: after a merge, on the main branch.
set -eu
cd "$(dirname "$0")"
publish() {
  cstp ingest --url "$CSTP_URL" --repository "${CI_REPOSITORY:-shop}" "$@" docs/decisions
}
publish --dry-run >&2  # fails where a record cannot be read
publish
