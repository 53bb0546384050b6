#!/bin/sh
# Makes .venv from requirements.lock (every hash checked) with this checkout installed in it.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

# make puts .venv/bin first on PATH; an environment is made by the machine's Python.
PATH=$(printf %s "$PATH" | tr : '\n' | grep -vxF "$root/.venv/bin" | paste -sd :)
suits() { "$1" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
python=
for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
  if suits "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "error: no Python 3.11 or newer with venv on PATH; install python3-venv or set PYTHON=/path/to/python" >&2
  exit 1
fi

stamp=.venv/.lock-stamp
wanted=$({ "$python" --version; echo "$root compiled"; cat requirements.lock pyproject.toml; } | sha256sum)
[ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || exit 0

echo "venv: installing $(grep -c '==' requirements.lock) locked packages into .venv" >&2
# Scripts name their interpreter by its whole path: a moved or copied environment runs the old one.
made_for="$root $("$python" --version)"
if [ "$(cat .venv/.made-for 2>/dev/null)" != "$made_for" ] || ! suits .venv/bin/python; then
  "$python" -m venv --clear .venv
  echo "$made_for" > .venv/.made-for
fi
if ! .venv/bin/uv --version >/dev/null 2>&1; then
  sed -n '/^uv==/,/^    # via/p' requirements.lock | grep -v '#' > .venv/uv.lock
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .venv/uv.lock
fi
# What pip was told on this machine holds for uv as well.
index=$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)
[ -z "${PIP_INDEX_URL:-$index}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$index}}"
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" VIRTUAL_ENV="$root/.venv"
.venv/bin/uv pip sync --quiet --require-hashes requirements.lock
.venv/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .
# Nearly every test starts a Python of its own. Where PYTHONDONTWRITEBYTECODE is set each of them would
# compile what it imports: two seconds for Ansible or the service. What is not Python 3 does not compile.
.venv/bin/python -m compileall -q -j 0 -x /ansible_collections/ .venv/lib >/dev/null 2>&1 || :
echo "$wanted" > $stamp
