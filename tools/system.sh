#!/bin/sh
# Installs the Debian packages that are missing. usage: system.sh up|test
# Says first what 'make up' or 'make test' changes on this machine; asks only a person, never CI.
set -eu

purpose=${1:-up}
packages="python3-venv podman runc debootstrap containernetworking-plugins iptables netavark
  aardvark-dns uidmap openssh-client ca-certificates iproute2 procps"
# The proxy's own tests run a real nginx on loopback.
test_packages="nginx libnginx-mod-http-lua lua-cjson lua-resty-core"
[ "$purpose" = test ] && packages="$packages $test_packages"

fail() { echo "error: $*" >&2; exit 1; }

missing=
for package in $packages; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done

cat >&2 <<TEXT
make $purpose changes on this machine:
  Debian packages   ${missing:-none missing}
  .venv .tools      Python environment (requirements.lock) and the Pulumi CLI, in this folder
  containers        podman image localhost/warmfleet-host, hosts warmfleet-* on networks of their own,
                    ports on loopback only
  stacks/.warmfleet state, keys and downloads of the lab (private, not committed)
  'make down' removes the hosts, 'make clean' the rest of this folder.
TEXT

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
policy=/usr/sbin/policy-rc.d
mark='# of tools/system.sh, for the time of one installation'
# The mark tells a file that a killed run left here from one that the machine's owner wants.
if grep -qsxF "$mark" "$policy"; then
  as_root rm -f "$policy" || fail "an ended installation left $policy; remove it as root"
fi
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || fail "no apt-get; needed: Debian 12 with$missing; install them by hand"
[ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
  fail "not root and no sudo; needed to install$missing; run as root or install sudo"
if [ "${CI:-}" != true ] && [ -t 0 ]; then
  printf 'Install%s? [Y/n] ' "$missing" >&2
  read -r answer
  case $answer in [nN]*) fail "not installed:$missing" ;; esac
fi

# Packages must not start or enable services here: nginx is wanted as a program, not on port 80.
nginx_was=$(command -v nginx || true)
if [ ! -e "$policy" ]; then
  trap 'as_root rm -f "$policy"' EXIT
  # dash runs that at an exit only, and a signal is none.
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" | as_root tee "$policy" >/dev/null
  as_root chmod 0755 "$policy"
fi
as_root apt-get -q update >&2 || fail "apt-get update failed (above); check /etc/apt and the network"
# shellcheck disable=SC2086 # words on purpose
as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
  -o DPkg::Lock::Timeout=300 install $missing >&2 || fail "apt-get install failed (above)"
if [ -z "$nginx_was" ] && command -v nginx >/dev/null && command -v systemctl >/dev/null; then
  as_root systemctl disable nginx >/dev/null 2>&1 || true
fi
