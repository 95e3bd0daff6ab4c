#!/usr/bin/env bash
# Builds the container images in Docker; nothing happens when their inputs are unchanged.
#   hack/images.sh [database|database-old|drivers|exporter|sysbench|operator|cert-manager|object-store|google-store|azurite|monitoring|all]...
# "all" is what the local cluster needs, without the operator, the older database, the drivers, the exporter, google-store, azurite and monitoring.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# An image names which inputs it was made from.
LABEL=io.galera-operator.inputs

up_to_date() {
  [ "$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$1" 2>/dev/null)" = "$2" ]
}

# import_debian SUITE: a minimal Debian root file system, made like the official slim image.
import_debian() {
  local excludes=() dir
  for dir in doc man info locale groff lintian; do excludes+=("--dpkgopt=path-exclude=/usr/share/$dir/*"); done
  mmdebstrap --variant=minbase --include=ca-certificates "${excludes[@]}" \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    "$1" - "$(debian_mirror)" | docker import - "debian:$1-slim"
}

# debian_base SUITE: the official image where it can be pulled, else made from packages.
debian_base() {
  docker image inspect "debian:$1-slim" >/dev/null 2>&1 && return 0
  try_pull "debian:$1-slim" && return 0
  need mmdebstrap mmdebstrap
  if [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
    step "install Debian's keys" apt_install debian-archive-keyring
  fi
  step "make debian:$1-slim" import_debian "$1"
}

# image_hash PATH BASE: what an image is made from.
image_hash() { echo "$(folder_hash "$1")-$2" | tr ':/' '--'; }

# docker_build TAG CONTEXT BASE
docker_build() {
  docker build -t "$1" --label "$LABEL=$(image_hash "$2" "$3")" \
    --build-arg "BASE=$3" --build-arg "MIRROR=$(debian_mirror)" "$2"
}

# from_base TAG FOLDER SUITE [PUBLIC]: builds an image, on top of the public one if that can be had.
from_base() {
  local tag=$1 context="$REPO_DIR/images/$2" base="debian:$3-slim" public=${4:-}
  if up_to_date "$tag" "$(image_hash "$context" "$base")"; then return 0; fi
  if [ -n "$public" ]; then
    up_to_date "$tag" "$(image_hash "$context" "$public")" && return 0
    if try_pull "$public"; then base=$public; fi
  fi
  if [ "$base" != "$public" ]; then debian_base "$3"; fi
  step "build $tag" docker_build "$tag" "$context" "$base"
}

# operator: the Makefile compiles the programs; this only packs them.
operator() {
  local hash program programs=()
  for program in manager agent backup benchmarks bench-runner; do
    [ -x "$REPO_DIR/bin/$program" ] || die "bin/$program is missing: compile it first (make build)"
    programs+=("$REPO_DIR/bin/$program")
  done
  hash=$(folder_hash "${programs[@]}" "$REPO_DIR/Dockerfile")
  up_to_date "$OPERATOR_IMAGE" "$hash" && return 0
  step "build $OPERATOR_IMAGE" docker build -t "$OPERATOR_IMAGE" --label "$LABEL=$hash" "$REPO_DIR"
}

# cert_manager: a static program from its module, compiled here, in an empty image.
cert_manager() {
  local folder="$REPO_DIR/images/cert-manager" hash out
  hash=$(folder_hash "$folder")
  up_to_date "$CERT_MANAGER_IMAGE" "$hash" && return 0
  out="$CACHE/tools/cert-manager-$CERT_MANAGER_VERSION-$hash"
  step "build cert-manager $CERT_MANAGER_VERSION" compile_cert_manager "$folder" "$out"
  step "build $CERT_MANAGER_IMAGE" docker build -t "$CERT_MANAGER_IMAGE" --label "$LABEL=$hash" -f "$folder/Dockerfile" "$out"
}

compile_cert_manager() {
  # The version is in versions.env and, because modules want it so, in go.mod.
  grep -q "cert-manager/cert-manager $CERT_MANAGER_VERSION\$" "$1/go.mod" ||
    die "images/cert-manager/go.mod does not require $CERT_MANAGER_VERSION as hack/versions.env says"
  mkdir -p "$2"
  (cd "$1" && CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=local go build -trimpath -ldflags '-s -w' -o "$2/cert-manager" .)
}

# object_store: a real S3 server over a directory, for the tests of backups.
object_store() {
  local folder="$REPO_DIR/images/object-store" hash out
  "$HACK_DIR/tools.sh" build versitygw
  hash=$(folder_hash "$folder")-$VERSITYGW_VERSION
  up_to_date "$OBJECT_STORE_IMAGE" "$hash" && return 0
  out="$CACHE/tools/versitygw-$VERSITYGW_VERSION"
  step "build $OBJECT_STORE_IMAGE" docker build -t "$OBJECT_STORE_IMAGE" --label "$LABEL=$hash" -f "$folder/Dockerfile" "$out"
}

# google_store: fake-gcs-server, behind a program of ours that gives tokens and speaks TLS, for the tests of backups.
google_store() {
  local folder="$REPO_DIR/images/google-store" hash out
  "$HACK_DIR/tools.sh" build fake-gcs-server
  out=$(mktemp -d)
  step "compile google-store" compile_google_store "$out"
  hash=$(folder_hash "$folder" "$out/google-store")-$FAKE_GCS_SERVER_VERSION
  if ! up_to_date "$GOOGLE_STORE_IMAGE" "$hash"; then
    step "build $GOOGLE_STORE_IMAGE" docker build -t "$GOOGLE_STORE_IMAGE" --label "$LABEL=$hash" -f "$folder/Dockerfile" "$out"
  fi
  rm -r "$out"
}

compile_google_store() {
  cp "$CACHE/tools/fake-gcs-server-$FAKE_GCS_SERVER_VERSION/fake-gcs-server" "$1"
  (cd "$REPO_DIR" && CGO_ENABLED=0 go build -trimpath -tags=disable_grpc_modules -ldflags '-s -w' -o "$1/google-store" ./hack/google-store)
}

# azurite: the emulator of Azure Blob Storage, as hack/azurite.sh installs it, for the tests of backups.
azurite() {
  local folder="$REPO_DIR/images/azurite" base="debian:$DATABASE_DEBIAN-slim" hash
  hash=$(folder_hash "$HACK_DIR/azurite")-$(image_hash "$folder" "$base")
  up_to_date "$AZURITE_IMAGE" "$hash" && return 0
  "$HACK_DIR/azurite.sh"
  debian_base "$DATABASE_DEBIAN"
  step "build $AZURITE_IMAGE" azurite_image "$folder" "$hash" "$base"
}

# azurite_image FOLDER HASH BASE: without the files that are for browsers, for compilers and for debuggers, which are most.
azurite_image() {
  local out
  out=$(mktemp -d)
  tar -C "$CACHE/tools/azurite-$(folder_hash "$HACK_DIR/azurite")" --exclude=esm --exclude=esnext --exclude='*.map' --exclude='*.d.ts' -c node_modules | tar -C "$out" -x
  docker build -t "$AZURITE_IMAGE" --label "$LABEL=$2" -f "$1/Dockerfile" --build-arg "BASE=$3" --build-arg "MIRROR=$(debian_mirror)" "$out"
  rm -r "$out"
}

# monitoring: Prometheus and its operator, for hack/monitoring.sh.
monitoring() {
  local folder="$REPO_DIR/images/monitoring" hash
  "$HACK_DIR/tools.sh" build prometheus prometheus-operator
  hash=$(folder_hash "$folder")-$PROMETHEUS_VERSION-$PROMETHEUS_OPERATOR_VERSION
  up_to_date "$MONITORING_IMAGE" "$hash" && return 0
  step "build $MONITORING_IMAGE" monitoring_image "$folder" "$hash"
}

monitoring_image() {
  local out
  out=$(mktemp -d)
  cp "$CACHE/tools/prometheus-$PROMETHEUS_VERSION/prometheus" "$CACHE/tools/prometheus-operator-$PROMETHEUS_OPERATOR_VERSION/"* "$out"
  docker build -t "$MONITORING_IMAGE" --label "$LABEL=$2" -f "$1/Dockerfile" "$out"
  rm -r "$out"
}

# drivers: what Debian does not have of them is fetched here, by the pinned versions alongside the programs.
drivers() {
  local folder="$REPO_DIR/images/drivers" base="debian:$DATABASE_DEBIAN-slim" hash out
  hash=$(image_hash "$folder" "$base")
  up_to_date "$DRIVERS_IMAGE" "$hash" && return 0
  debian_base "$DATABASE_DEBIAN"
  need npm npm
  need pip3 python3-pip
  out="$CACHE/tools/drivers-$hash"
  step "fetch drivers" fetch_drivers "$folder" "$out"
  step "build $DRIVERS_IMAGE" docker build -t "$DRIVERS_IMAGE" --label "$LABEL=$hash" \
    --build-arg "BASE=$base" --build-arg "MIRROR=$(debian_mirror)" "$out"
}

fetch_drivers() {
  rm -rf "$2"
  cp -r "$1" "$2"
  (cd "$2" && npm ci --omit=dev --no-fund --no-audit && pip3 download --no-deps --only-binary :all: -d wheels -r requirements.txt)
}

build_image() {
  case $1 in
  database) from_base "$DATABASE_IMAGE" database "$DATABASE_DEBIAN" "$PUBLIC_DATABASE_IMAGE" ;;
  database-old) from_base "$DATABASE_OLD_IMAGE" database "$DATABASE_OLD_DEBIAN" ;;
  drivers) drivers ;;
  exporter) from_base "$EXPORTER_IMAGE" exporter "$DATABASE_DEBIAN" ;;
  sysbench) from_base "$SYSBENCH_IMAGE" sysbench "$DATABASE_DEBIAN" ;;
  operator) operator ;;
  cert-manager) cert_manager ;;
  object-store) object_store ;;
  google-store) google_store ;;
  azurite) azurite ;;
  monitoring) monitoring ;;
  all) for image in database sysbench cert-manager object-store; do build_image "$image"; done ;;
  base) debian_base "$2" ;;
  *) die "usage: hack/images.sh [database|database-old|drivers|exporter|sysbench|operator|cert-manager|object-store|google-store|azurite|monitoring|all]..." ;;
  esac
}

"$HACK_DIR/docker.sh"
if [ "${1:-}" = base ]; then
  locked image-base debian_base "$2"
  exit
fi
for image in "${@:-all}"; do locked "image-$image" build_image "$image"; done
