# shellcheck shell=bash
# Shared by scripts/quickstart and scripts/test: packages, configuration, build. Sourced, not run.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

fail() {
  echo "emplace set-up: $*" >&2
  exit 2
}

say() {
  echo "== $*"
}

# Number of jobs for the build: cores, but no more than one per 1.5 GiB of memory that is free.
default_jobs() {
  local cores memory
  cores="$(nproc)"
  memory="$(awk '/^MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo 2>/dev/null || echo "$cores")"
  [ "$memory" -ge 1 ] || memory=1
  [ "$memory" -lt "$cores" ] && echo "$memory" || echo "$cores"
}

package_names() {
  sed -e 's/#.*//' "$root/scripts/lib/packages.txt" | awk 'NF {print $1}'
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# What to do by hand, with what each missing package gives.
explain_missing() {
  local name
  {
    echo "emplace set-up: $1"
    echo "packages that are needed:"
    for name in "${@:2}"; do
      grep -E "^${name//+/\\+} " "$root/scripts/lib/packages.txt" | sed 's/^/  /'
    done
    echo "Install them, by hand on Debian or Ubuntu with"
    echo "  sudo apt-get install ${*:2}"
    echo "(elsewhere: the same libraries from your distribution), then run this script again with"
    echo "--no-install, which skips this step."
  } >&2
  exit 2
}

# Installs what is missing from packages.txt; exit code 2 where that cannot be done.
install_packages() {
  local name sudo="" missing=()
  if ! command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(package_names)
    explain_missing "this is no Debian-like system (no dpkg-query)" "${missing[@]}"
  fi
  for name in $(package_names); do
    is_installed "$name" || missing+=("$name")
  done
  if [ "${#missing[@]}" -eq 0 ]; then
    say "all distribution packages are there"
    return
  fi
  command -v apt-get >/dev/null ||
    explain_missing "packages cannot be installed (no apt-get)" "${missing[@]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      explain_missing "packages cannot be installed (neither root nor sudo)" "${missing[@]}"
    sudo="sudo"
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  if ! $sudo apt-get install -y --no-install-recommends "${missing[@]}"; then
    say "once more with a fresh package list"
    $sudo apt-get update ||
      explain_missing "apt-get update failed (no network, or no rights)" "${missing[@]}"
    $sudo apt-get install -y --no-install-recommends "${missing[@]}" ||
      explain_missing "apt-get install failed" "${missing[@]}"
  fi
}

# build PRESET JOBS TARGET [CMAKE OPTION]...: configures build/PRESET and builds a target of it.
build() {
  local preset="$1" jobs="$2" target="$3"
  shift 3
  say "configuring build/$preset"
  (cd "$root" && cmake --preset "$preset" "$@") || fail "cmake failed, see above"
  say "building build/$preset with $jobs jobs"
  cmake --build "$root/build/$preset" -j "$jobs" --target "$target" || fail "the build failed, see above"
}
