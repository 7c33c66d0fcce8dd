# shellcheck shell=bash
# Shared by scripts/release and scripts/wheel: a fresh Debian to try things in. Sourced after setup.sh.

# wrong MESSAGE...: ends the script, because a thing that was tried does not work.
wrong() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# mirror RELEASE: the server from which apt gets the release's main packages.
mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $1" 'Component: main' | head -n 1
}

# fresh_debian FOLDER [PACKAGE,...]: makes a Debian of the release that runs here, without compilers, with these packages.
# Sets `release`. Its folder's parent gets a log.
fresh_debian() {
  local server log="$1.log"
  [ "$(id -u)" -eq 0 ] || fail "trying it needs root, for chroot; use --no-try to build only"
  release="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  server="$(mirror "$release")"
  [ -n "$server" ] || fail "apt knows no mirror of $release; try apt-get update"
  say "a fresh $release"
  debootstrap --variant=minbase ${2:+"--include=$2"} "$release" "$1" "$server" >"$log" ||
    { tail -n 5 "$log" >&2; fail "debootstrap failed"; }
}

# in_root ROOT COMMAND...: runs it in that Debian.
in_root() {
  local root="$1"
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

# has_no_compiler ROOT
has_no_compiler() {
  local tool
  for tool in cc c++ gcc g++ clang cmake; do
    ! in_root "$1" sh -c "command -v $tool" || wrong "$1 has $tool"
  done
}

# megabytes PATH...: their sizes together.
megabytes() {
  du -cm --apparent-size "$@" | tail -n 1 | cut -f 1
}

# leave FOLDER: removes the Debians in it.
leave() {
  local mounted
  for mounted in "$1"/*/proc; do
    if mountpoint -q "$mounted"; then umount "$mounted"; fi
  done
  rm -rf --one-file-system "$1"
}

# commit_of BUILD: the commit that a build of it prints.
commit_of() {
  sed -n 's/.*return "\(.*\)";/\1/p' "$1/experiments/build_info.cc" | tail -n 1
}

expected_version="$(sed -n 's/^project(emplace VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")"
