#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Unpacks the libraries that meshmem needs on 64-bit Arm into FOLDER, from Debian's packages for arm64. Runs on Debian
# and does not touch the packages of this machine: apt keeps its lists and its state in FOLDER too.
# Called by ./mesh test --arm; does nothing if FOLDER holds what this script would unpack.
set -euo pipefail
[ $# -eq 1 ] || { echo 'usage: arm_sysroot.sh FOLDER' >&2; exit 2; }
packages=(libc6-dev libstdc++-12-dev libpmix-dev libfmt-dev libcli11-dev libboost-context-dev libgtest-dev libpng-dev)
folder=$(realpath -m "$1")
complete=$folder/unpacked
[ "$(cat "$complete" 2>/dev/null)" != "${packages[*]}" ] || exit 0

apt=$folder/apt
rm -rf "$folder"
mkdir -p "$apt"/{lists,archives}/partial
: >"$apt/status"  # apt takes no package as installed
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$apt" -o "Dir::State::status=$apt/status"
  -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives" -o Debug::NoLocking=1)
apt-get "${options[@]}" update
apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
for package in "$apt"/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$apt"
echo "${packages[*]}" >"$complete"
