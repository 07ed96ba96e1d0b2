#!/usr/bin/env bash
# Installs the packages that are missing. Silent and instant when none is. A person at the terminal
# is asked before.
#
# usage: setup.sh [demo|check|all|docs]   what they are for (all): demo, check and all are of
#        packages.txt, each with those before it; docs is packages-docs.txt
set -euo pipefail

folder="$(dirname "${BASH_SOURCE[0]}")"
list="$folder/packages.txt"
case "${1:-all}" in
  demo) levels='^demo$' ;;
  check) levels='^(demo|check)$' ;;
  all) levels='' ;;
  docs) levels='' list="$folder/packages-docs.txt" ;;
  *) echo "usage: setup.sh [demo|check|all|docs]" >&2; exit 2 ;;
esac
read -ra wanted <<<"$(awk -v levels="$levels" 'NF && $2 ~ levels { printf "%s ", $1 }' "$list")"

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

if [[ -t 0 && -t 1 ]]; then
  echo "These packages are missing: ${missing[*]}"
  read -rp "Install them by apt-get? [Y/n] " answer
  if [[ ! "$answer" =~ ^([Yy]([Ee][Ss])?)?$ ]]; then
    echo "Nothing is installed, and nothing is built." >&2
    exit 1
  fi
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
