#!/bin/sh
# Tests against others' real libraries that are too big or too old for .venv; `make test-peers` calls it.
# Each folder of tests/peers gets an environment of its own under .cache/peers, made when its requirements change.
# Usage: scripts/test-peers.sh [PEER...] [-- PYTEST OPTION...]
set -eu
cd "$(dirname "$0")/.."

root=.cache/peers
uv=.venv/bin/uv

say() { echo "test-peers: $*"; }

# What an environment was made of, and where: a moved tree needs a new one.
wanted() { { pwd; cat "tests/peers/$1"/requirements*.txt pyproject.toml; } | cksum; }

prepare() {
    place=$root/$1
    stamp=$place/.stamp
    [ "$(cat "$stamp" 2>/dev/null)" = "$(wanted "$1")" ] && return
    rm -f "$stamp"
    say "installing into $place:" $(grep -v '^#' "tests/peers/$1/requirements.txt")
    # Peers lag behind: not all of their packages are built for Python 3.13.
    [ -x "$place/bin/python" ] || "$uv" venv --quiet --python '>=3.11,<3.13' "$place"
    # What an interrupted installation has fetched is in uv's own cache.
    "$uv" pip install --python "$place/bin/python" -r "tests/peers/$1/requirements.txt"
    # What would bring along what the peer cannot live with.
    [ ! -f "tests/peers/$1/requirements-no-deps.txt" ] ||
        "$uv" pip install --no-deps --python "$place/bin/python" -r "tests/peers/$1/requirements-no-deps.txt"
    say "$place holds $(du -sh "$place" | cut -f1)"
    wanted "$1" >"$stamp"
}

# Peers first, then after -- what pytest is to be given.
peers=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    peers="$peers $1"
    shift
done
[ $# -eq 0 ] || shift
all=$(for list in tests/peers/*/requirements.txt; do basename "$(dirname "$list")"; done)

for peer in ${peers:-$all}; do
    [ -f "tests/peers/$peer/requirements.txt" ] || { say "no peer \"$peer\"; there are:" $all >&2; exit 2; }
done
failed=
for peer in ${peers:-$all}; do
    prepare "$peer"
    say "testing against $peer"
    "$root/$peer/bin/python" -m pytest "$@" "tests/peers/$peer" || failed="$failed $peer"
done
[ -z "$failed" ] || { say "failed:$failed" >&2; exit 1; }
