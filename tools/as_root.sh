#!/bin/sh
# Runs a command as root: as it is, or through sudo with this environment. Lab hosts are systemd
# containers, and those need root. What sudo made in the checkout belongs to its owner afterwards,
# so that keys, logs and state can be read, and removed, without sudo.
set -u
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
[ "$(id -u)" != 0 ] || exec "$@"
if ! command -v sudo >/dev/null; then
  echo "error: $1 needs root for the lab hosts; this is $(id -un) and there is no sudo; run make as root" >&2
  exit 1
fi
# A user's PATH lacks the sbin folders, where debootstrap and runc are.
sudo -E -H env "PATH=$PATH:/usr/sbin:/sbin" PYTHONDONTWRITEBYTECODE=1 "$@"
status=$?
if [ -O "$root" ]; then
  sudo find "$root" -xdev -path "$root/.git" -prune -o -user 0 -exec chown -h "$(id -u):$(id -g)" {} +
fi
exit $status
