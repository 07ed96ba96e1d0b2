#!/usr/bin/env bash
# Installs missing Debian packages. Prints nothing if none is missing; asks first on a terminal.
#
# usage: setup.sh [demo|check|all|docs]   which packages (default: all). demo, check and all are the
#        levels in packages.txt; each includes the levels before it. docs is packages-docs.txt.
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

# dpkg-query fails on an unknown package, but still prints the others.
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
  echo "Some packages are missing, and installing them needs root. Please run:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

if [[ -t 0 && -t 1 ]]; then
  echo "These packages are missing: ${missing[*]}"
  read -rp "Install them with apt-get? [Y/n] " answer
  if [[ ! "$answer" =~ ^([Yy]([Ee][Ss])?)?$ ]]; then
    echo "Nothing was installed or built." >&2
    exit 1
  fi
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
