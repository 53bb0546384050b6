#!/bin/sh
# Builds the root file system of a lab host and writes it as a tar file.
#
# usage: image_build.sh WORK RELEASE MIRROR
#   WORK holds sources.list, apt.conf, optionally ca-certificates.crt and ca/*.crt, and gets rootfs.tar.
#
# It runs as the first process of its own mount and PID namespaces: however it ends, its mounts and
# children end with it. The hash of this file names the image, so every change here is a new image.
set -eu

work=$1 release=$2 mirror=$3
root=$work/root
packages=ca-certificates,dbus,iproute2,openssh-server,procps,python3,python3-apt,python3-venv,sudo,systemd,systemd-sysv,udev

export LC_ALL=C DEBIAN_FRONTEND=noninteractive

step() { echo "step: $*" >&2; }

# dpkg syncs after every package; in memory that costs nothing.
mkdir -p "$root"
mount -t tmpfs -o size=3g,mode=0755 warmfleet-image "$root"

debootstrap --variant=minbase --components=main --include="$packages" \
  --keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$release" "$root" "$mirror" >&2

step "updating packages"
cp "$work/sources.list" "$root/etc/apt/sources.list"
install -m 0600 "$work/apt.conf" "$root/etc/apt/apt.conf.d/90control-machine"
if [ -d "$work/ca" ]; then
  mkdir -p "$root/usr/local/share/ca-certificates"
  cp "$work"/ca/*.crt "$root/usr/local/share/ca-certificates/"
  chroot "$root" update-ca-certificates >&2
fi
if [ -f "$work/ca-certificates.crt" ]; then
  install -m 0644 "$work/ca-certificates.crt" "$root/etc/ssl/certs/ca-certificates.crt"
fi
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 0755 "$root/usr/sbin/policy-rc.d"
chroot "$root" apt-get -q update >&2
chroot "$root" apt-get -q -y --no-install-recommends dist-upgrade >&2
rm "$root/usr/sbin/policy-rc.d"
chroot "$root" apt-get clean

step "configuring the host"
# What a container has no device, right or reason for.
for unit in \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
  console-getty.service getty@.service getty-static.service serial-getty@.service \
  systemd-logind.service systemd-timesyncd.service \
  systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
  systemd-udev-settle.service systemd-hwdb-update.service systemd-modules-load.service
do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

# Host keys are made at the first start: hosts of one image must not share an identity.
rm -f "$root"/etc/ssh/ssh_host_*
mkdir -p "$root/etc/systemd/system/ssh.service.d"
cat > "$root/etc/systemd/system/ssh.service.d/host-key.conf" <<'UNIT'
[Service]
ExecStartPre=
ExecStartPre=/bin/sh -c 'test -s /etc/ssh/ssh_host_ed25519_key || ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key'
ExecStartPre=/usr/sbin/sshd -t
UNIT
cat > "$root/etc/ssh/sshd_config.d/10-host.conf" <<'SSHD'
HostKey /etc/ssh/ssh_host_ed25519_key
KbdInteractiveAuthentication no
PasswordAuthentication no
PermitRootLogin prohibit-password
UseDNS no
SSHD
install -d -m 0700 "$root/root/.ssh"

: > "$root/etc/machine-id"  # empty: systemd makes one per host
rm -f "$root/var/lib/dbus/machine-id" "$root/etc/hostname" "$root/etc/resolv.conf"
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/var/log/*.log "$root"/tmp/*

step "packing the image"
tar --create --file="$work/rootfs.tar" --one-file-system --numeric-owner --directory="$root" .
