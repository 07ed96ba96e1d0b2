#!/usr/bin/env bash
# Installs the packages that are missing: those of packages.txt or, as `setup.sh GROUP`, those of
# packages-GROUP.txt, which only some targets need. Silent and instant when none is.
set -euo pipefail

list="$(dirname "${BASH_SOURCE[0]}")/packages${1:+-$1}.txt"
read -ra wanted <<<"$(awk 'NF { printf "%s ", $1 }' "$list")"

# dpkg-query fails on a package it never heard of, and still answers for the others.
format='${db:Status-Status} ${Package}\n'
installed="$(dpkg-query -W -f "$format" "${wanted[@]}" 2>/dev/null || true)"
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ $(id -u) -eq 0 ]]; then
  as_root=(env)
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n env)
else
  echo "Some packages are missing. Please run:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "Installing: ${missing[*]}"
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
