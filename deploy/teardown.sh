#!/bin/sh
# See deploy/README.md. Everything is in Python, deploy/teardown.py; this finds the interpreter that `make` has set up.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
[ -x "$python" ] || { echo "run make lint once: it sets up $python" >&2; exit 1; }
exec "$python" -m deploy.teardown "$@"
