#!/usr/bin/env bash
# Makes sure that a Docker engine runs: installs it from the distribution's packages
# and starts it, where that is possible; otherwise describes what to do.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

DOCKERD=''
WRAPPER=/usr/local/lib/galera-operator/runc

# A client without an engine is common, so look for the daemon.
install_engine() {
  if command -v dockerd >/dev/null && command -v iptables >/dev/null && command -v jq >/dev/null; then return 0; fi
  step "install Docker" apt_install docker.io containerd runc iptables iproute2 jq ca-certificates
}

# install_wrapper: see runc-wrapper.sh. Outside the cache, because a running engine
# needs it even after the cache is gone.
install_wrapper() {
  mkdir -p "$(dirname "$WRAPPER")"
  cmp -s "$HACK_DIR/runc-wrapper.sh" "$WRAPPER" && return 0
  install -m 755 "$HACK_DIR/runc-wrapper.sh" "$WRAPPER.tmp"
  mv "$WRAPPER.tmp" "$WRAPPER"
}

# drop_stale_pid FILE NAME: a pid file of an earlier boot may name a process that is
# something else by now, or a dead one that was not reaped; dockerd would refuse to start.
drop_stale_pid() {
  local pid stat
  pid=$(cat "$1" 2>/dev/null) || return 0
  stat=$(cat "/proc/$pid/stat" 2>/dev/null) || stat=''
  case $stat in
  "$pid ($2) Z"*) rm -f "$1" ;;
  "$pid ($2) "*) ;;
  *) rm -f "$1" ;;
  esac
}

# start_by_hand: where no init system runs services. Sets DOCKERD to the process.
start_by_hand() {
  local options=()
  drop_stale_pid /var/run/docker.pid dockerd
  drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
  if lacks_sys_resource; then
    install_wrapper
    options=(--add-runtime "limited=$WRAPPER" --default-runtime limited)
  fi
  # The engine must find its own containerd shim, not the newer one that is built for the nodes.
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    setsid nohup dockerd "${options[@]}" >>"$LOGS/dockerd.log" 2>&1 </dev/null &
  DOCKERD=$!
}

# wait_for_engine: one that ends at once is started again a few times, because an earlier
# one may still be terminating.
wait_for_engine() {
  local tries=5
  for _ in $(seq 240); do
    if docker info >/dev/null 2>&1; then return 0; fi
    sleep 0.5
    if [ -n "$DOCKERD" ] && [ "$tries" -gt 0 ] && ! kill -0 "$DOCKERD" 2>/dev/null; then
      tries=$((tries - 1))
      sleep 2
      start_by_hand
    fi
  done
  echo "the Docker engine does not answer; the end of $LOGS/dockerd.log:"
  tail -n 20 "$LOGS/dockerd.log" || true
  return 1
}

start_engine() {
  is_root || die "no Docker engine answers; start it (sudo systemctl start docker) and join the docker group, or run this as root"
  install_engine
  case "$(systemctl is-system-running 2>/dev/null || true)" in
  running | degraded | starting) systemctl start docker || true ;;
  *) start_by_hand ;;
  esac
  step "start Docker" wait_for_engine
}

ensure_engine() {
  if ! docker info >/dev/null 2>&1; then start_engine; fi
  if lacks_sys_resource && [ "$(docker info --format '{{.DefaultRuntime}}')" != limited ]; then
    die "this machine lacks CAP_SYS_RESOURCE and dockerd runs without the wrapper that needs: stop dockerd, then run this again"
  fi
}

locked docker ensure_engine
