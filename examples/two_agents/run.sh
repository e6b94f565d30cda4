#!/bin/sh
# Two servers with records of their own, and a script that asks both. Nothing is left behind.
set -eu
cd "$(dirname "$0")"
data=$(mktemp -d)
trap 'kill $servers 2>/dev/null; wait; rm -rf "$data"' EXIT
servers=

cstp ingest --data-dir "$data/shop" shop
cstp ingest --data-dir "$data/billing" billing

# each agent has a token at the other's server
SHOP_TOKEN=$(cstp token create --data-dir "$data/shop" --agent billing --quiet)
BILLING_TOKEN=$(cstp token create --data-dir "$data/billing" --agent shop --quiet)
export SHOP_TOKEN BILLING_TOKEN

CSTP_AGENT__ID=shop cstp serve --data-dir "$data/shop" --port 8101 2>"$data/shop.log" &
servers=$!
CSTP_AGENT__ID=billing cstp serve --data-dir "$data/billing" --port 8102 2>"$data/billing.log" &
servers="$servers $!"

python ask.py
