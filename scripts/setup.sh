#!/bin/sh
# Makes .venv from requirements.lock and, where it may, installs the GL libraries and Chromium; `make setup` calls it.
set -eu

stamp=.venv/.stamp
debian_gl="libegl1 libgl1 libgl1-mesa-dri"
debian_chromium="chromium fonts-dejavu-core"

say() { echo "setup: $*"; }
fail() { say "$*" >&2; exit 1; }
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
may_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }
}
lists_are_new=
apt_install() {
    say "installing $* with apt-get"
    [ -n "$lists_are_new" ] || as_root apt-get update -qq && lists_are_new=yes &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

make_venv() {
    python=$(find_python) || fail "RoboDx needs Python 3.11 or newer. Name one with: make PYTHON=/path/to/python3.11"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        # Debian ships Python without these two; the package carries the version in its name.
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        may_install && apt_install "$package" || fail "$python cannot make environments. Run: apt-get install $package"
    fi
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

# Scripts in an environment name its absolute place, so a moved or copied tree needs a new one.
[ "$(cat .venv/.place 2>/dev/null)" = "$PWD" ] && .venv/bin/python -m pip --version >/dev/null 2>&1 || make_venv
rm -f "$stamp"
echo "$PWD" >.venv/.place

say "installing packages from requirements.lock"
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
# uv takes a fifth of the time. It does not read pip's settings, so where it cannot reach the packages pip installs them.
awk '/^[^ #]/ { is_uv = /^uv==/ } is_uv' requirements.lock >.venv/uv.txt
pip install --quiet --no-compile --require-hashes -r .venv/uv.txt &&
    .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements.lock ||
    pip install --quiet --no-compile --require-hashes -r requirements.lock
pip install --quiet --no-deps --no-build-isolation -e .
# On all cores and beside what follows; the packages' own tests are left out.
.venv/bin/python -m compileall -q -j 0 -x '/tests?/' src .venv/lib/python3*/site-packages >/dev/null 2>&1 &

can_render() {
    env -u MUJOCO_GL .venv/bin/python -c 'import sys; from robodx.sim import gl; sys.exit(not gl.status().is_available)'
}
if [ "$(uname)" = Linux ] && ! can_render; then
    # shellcheck disable=SC2086 # a list of packages
    may_install && apt_install $debian_gl || say "no OpenGL here, and it could not be installed: see .venv/bin/robodx doctor"
fi

has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! has_chromium >/dev/null; then
    # shellcheck disable=SC2086 # a list of packages
    may_install && apt_install $debian_chromium ||
        say "no Chromium here, and it could not be installed; only the tests need it. Debian: apt-get install $debian_chromium"
fi

wait
echo "$PWD" >"$stamp"
say "done"
