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

# package_lines [LIST]...: prints "name  purpose" of packages.txt and other lists beside it; "?name" may be missing.
package_lines() {
  (cd "$root/scripts/lib" && sed -e '/^#/d' -e '/^$/d' packages.txt "$@")
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the steps to do by hand, with the purpose of each missing package.
explain_missing() {
  local name
  {
    echo "emplace set-up: $1"
    echo "packages that are needed:"
    for name in "${@:2}"; do
      package_lines "${lists[@]}" | sed 's/^?//' | grep -E "^${name//+/\\+} " | sed 's/^/  /'
    done
    echo "Install them, by hand on Debian or Ubuntu with"
    echo "  sudo apt-get install ${*:2}"
    echo "(elsewhere: the same libraries from your distribution), then run this script again with"
    echo "--no-install, which skips this step."
  } >&2
  exit 2
}

# apt_install PACKAGE...: installs, if needed with a fresh package list; if it cannot, reports the missing packages and
# returns 1.
apt_install() {
  local sudo=""
  if ! command -v apt-get >/dev/null; then
    problem="no apt-get"
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      problem="neither root nor sudo"
      return 1
    fi
    sudo="sudo"
  fi
  say "installing $*"
  export DEBIAN_FRONTEND=noninteractive
  # A new machine may be installing updates: apt-get waits for it.
  local install=(${sudo:+"$sudo"} apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300)
  "${install[@]}" "$@" && return
  say "trying again with a fresh package list"
  if ! $sudo apt-get update; then
    problem="apt-get update failed: no network, or no rights"
    return 1
  fi
  problem="apt-get install failed"
  "${install[@]}" "$@"
}

# install_packages [LIST]...: installs the missing packages of packages.txt and these lists beside it; exit code 2
# if that fails.
install_packages() {
  local name problem="" missing=() optional=() lists=("$@")
  if ! command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(package_lines "${lists[@]}" | awk '!/^\?/ {print $1}')
    explain_missing "this is not a Debian-like system (no dpkg-query)" "${missing[@]}"
  fi
  for name in $(package_lines "${lists[@]}" | awk '{print $1}'); do
    is_installed "${name#\?}" || case "$name" in
      \?*) optional+=("${name#\?}") ;;
      *) missing+=("$name") ;;
    esac
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    apt_install "${missing[@]}" || explain_missing "packages cannot be installed ($problem)" "${missing[@]}"
  fi
  if [ "${#optional[@]}" -gt 0 ]; then
    apt_install "${optional[@]}" || say "without ${optional[*]} ($problem): tests that need it will be skipped"
  fi
  say "all needed distribution packages are installed"
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
