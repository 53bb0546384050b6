#!/bin/sh
# Resolves pyproject.toml into the two lock files: this checkout's and the GPU host's.
set -eu
cd "$(dirname -- "$0")/.."
compile() {
  .venv/bin/uv pip compile pyproject.toml --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --quiet "$@"
}
compile --universal --extra control --extra service --extra llamacpp --extra dev -o requirements.lock
# A host runs what was tested here: the same versions, fewer packages.
compile --extra service --extra llamacpp -c requirements.lock \
  --python-platform x86_64-manylinux_2_28 -o roles/inference_service/files/requirements.lock
