#!/usr/bin/env bash
# Shared by the scripts in this folder: the cache, progress lines, locks, pulls.
# shellcheck disable=SC2034 # the variables are used by the scripts that source this

HACK_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
REPO_DIR="$(dirname "$HACK_DIR")"
# shellcheck source=hack/versions.env
. "$HACK_DIR/versions.env"

CACHE="${GALERA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/galera-operator}"
BIN="$CACHE/bin"
LOGS="$CACHE/logs"
RUN="$CACHE/run"
# Failures inside $(...) count, too.
shopt -s inherit_errexit

mkdir -p "$BIN" "$LOGS" "$RUN" "$CACHE/locks"
export PATH="$BIN:$PATH"

# The local Kubernetes. GALERA_CLUSTER=galera-b is a second one (hack/network.sh has the addresses of both).
CLUSTER=${GALERA_CLUSTER:-galera}
CONTEXT="kind-$CLUSTER"

# kubeconfig_of CLUSTER: its file.
kubeconfig_of() { if [ "$1" = galera ]; then echo "$CACHE/kubeconfig"; else echo "$CACHE/kubeconfig-$1"; fi; }
CLUSTER_KUBECONFIG=$(kubeconfig_of "$CLUSTER")
# For how many seconds each part of the local Kubernetes is waited for. It may start alongside the tests of `make test`.
PATIENCE=180

# Progress goes to stderr, so that a script's stdout stays its answer.
log() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

die() {
  log "error: $*"
  exit 1
}

# step NAME COMMAND...: runs a command with its output in a log file, and prints
# one line with the time it took; when it fails, the log's name and last lines.
# Never call it in a condition (if, ||, &&): bash then ignores failures inside it.
step() {
  local name=$1 file start rc
  shift
  file="$LOGS/$(tr -c 'a-zA-Z0-9.\n' '-' <<<"$name").log"
  start=$(date +%s)
  set +e
  (
    set -e
    "$@"
  ) >"$file" 2>&1 </dev/null
  rc=$?
  set -e
  if [ "$rc" -ne 0 ]; then
    log "FAILED: $name (exit code $rc after $(($(date +%s) - start)) s); last lines of $file:"
    tail -n 25 "$file" >&2
    exit "$rc"
  fi
  log "$name: done in $(($(date +%s) - start)) s"
}

# locked NAME COMMAND...: one at a time on this machine, so that two callers
# never build the same thing; the second finds it done.
locked() {
  local fd
  exec {fd}>"$CACHE/locks/$1"
  flock "$fd"
  shift
  # The lock must not be inherited by daemons that outlive this script.
  "$@" {fd}>&-
  exec {fd}>&-
}

# folder_hash PATH...: changes when any of these files' contents or names do, but
# not with the place of the checkout.
folder_hash() {
  local path
  for path in "$@"; do
    (cd "$(dirname "$path")" && find "$(basename "$path")" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
  done | sha256sum | cut -c1-16
}

# try_pull IMAGE: pulls a public image if its registry answers within seconds.
# A refusal is remembered for ten minutes, that is for one run of several scripts.
try_pull() {
  local image=$1 refused
  refused="$RUN/no-pull-$(tr -c 'a-zA-Z0-9.\n' '-' <<<"$image")"
  [ -z "$(find "$refused" -mmin -10 2>/dev/null)" ] || return 1
  if timeout 5 docker manifest inspect "$image" >/dev/null 2>&1 &&
    timeout 600 docker pull -q "$image" >"$LOGS/pull.log" 2>&1; then
    log "pulled $image"
    return 0
  fi
  touch "$refused"
  log "$image cannot be pulled here; building instead"
  return 1
}

# Packages are installed and routes added only as root.
is_root() { [ "$(id -u)" -eq 0 ]; }

# lacks_sys_resource: whether root here is without CAP_SYS_RESOURCE (bit 24).
lacks_sys_resource() {
  local bounding
  bounding=$(awk '/^CapBnd/ {print $2}' /proc/self/status)
  ! ((16#$bounding >> 24 & 1))
}

# apt_install PACKAGE...: installs what is missing, without questions. One at a time: apt refuses a second one.
apt_install() {
  is_root || die "these packages are missing: $*; install them (apt-get install $*) or run this as root"
  command -v apt-get >/dev/null || die "these packages are missing and this is no Debian or Ubuntu: $*"
  export DEBIAN_FRONTEND=noninteractive
  locked apt apt_get "$@"
}

apt_get() {
  # The lists may be old or absent: refresh them only when the first try fails.
  if ! apt-get install -y --no-install-recommends "$@"; then
    apt-get update
    apt-get install -y --no-install-recommends "$@"
  fi
}

# need COMMAND PACKAGE...: makes sure that a command exists.
need() {
  local command=$1
  shift
  if ! command -v "$command" >/dev/null; then step "install $*" apt_install "$@"; fi
}

# debian_mirror SUITE: where this machine's apt fetches Debian from, so that
# images are built from the same place.
debian_mirror() {
  local mirror
  # shellcheck disable=SC2016 # apt's own variables
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "Debian" && $3 == "Debian" {print $1; exit}')
  echo "${mirror:-http://deb.debian.org/debian/}"
}
