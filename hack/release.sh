#!/usr/bin/env bash
# Makes a release of this commit in dist.
#   VERSION     v1.2.3, or what a dry run makes up
#   REGISTRY    where images and the chart go, for instance ghcr.io/galera-operator
#   COSIGN_KEY, COSIGN_CONFIG    a key, and services for signatures; without them cosign gets a certificate of Sigstore's for this workflow
#   PIN_FROM    the registry that digests of the database and the benchmark image are asked of; without it, the images' own
#   GORELEASER  further arguments of `goreleaser release`, for instance --snapshot
# The image comes first: the chart and install.yaml name it by its digest.
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$REPO_DIR"
: "${VERSION:?}" "${REGISTRY:?}"
OUT=bin/release
IMAGE=$REGISTRY/galera-operator
EPOCH=$(git log -1 --format=%ct)
PLATFORMS=(amd64 arm64)
[ -z "${COSIGN_KEY:-}" ] || SIGN=(--key "$COSIGN_KEY" --signing-config "$COSIGN_CONFIG")

sign() { cosign "$1" --yes ${SIGN[@]+"${SIGN[@]}"} "${@:2}"; }

compile_for() {
  local program
  for program in manager agent backup benchmarks bench-runner; do
    # Each in its folder: bench-runner is a module of its own.
    CGO_ENABLED=0 GOOS=linux GOARCH=$1 go -C "cmd/$program" build -trimpath -tags=disable_grpc_modules \
      -ldflags "-s -w -X github.com/galera-operator/galera-operator/internal/version.Version=$VERSION" -o "$PWD/$OUT/$1/$program" .
  done
}

# image_for ARCH: the Dockerfile in other words: an empty image, the programs, a user. The same commit gives the same digest.
image_for() {
  compile_for "$1"
  tar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner -cf "$OUT/$1.tar" -C "$OUT/$1" agent backup bench-runner benchmarks manager
  crane append --oci-empty-base --new_layer "$OUT/$1.tar" --new_tag "$IMAGE:$VERSION-$1" >/dev/null
  crane mutate "$IMAGE:$VERSION-$1" --set-platform "linux/$1" --entrypoint /manager --user 65532:65532 --tag "$IMAGE:$VERSION-$1" \
    --label "org.opencontainers.image.source=https://github.com/galera-operator/galera-operator" \
    --label "org.opencontainers.image.version=$VERSION" --label "org.opencontainers.image.revision=$(git rev-parse HEAD)" >/dev/null
}

image() {
  local arch manifests=()
  for arch in "${PLATFORMS[@]}"; do
    image_for "$arch"
    manifests+=(--manifest "$IMAGE:$VERSION-$arch")
  done
  crane index append "${manifests[@]}" --tag "$IMAGE:$VERSION" >/dev/null
  crane digest "$IMAGE:$VERSION" >"$OUT/digest"
}

# sign_image: the signature and the list of what is in it lie alongside the image.
sign_image() {
  local at
  at=$IMAGE@$(cat "$OUT/digest")
  syft scan "registry:$at" --platform linux/amd64 --quiet --output "spdx-json=$OUT/image.spdx.json"
  sign sign "$at"
  sign attest --type spdxjson --predicate "$OUT/image.spdx.json" "$at"
}

# pinned VARIABLE FILE: an image that a Deployment of config/ hands on, with the digest its tag has now: what a tag leads to may change.
pinned() {
  local image source
  image=$(sed -n "/name: $1$/{n;s/^ *value: //p}" "$2")
  source=$image
  [ -z "${PIN_FROM:-}" ] || source=$PIN_FROM/${image##*/}
  echo "$image@$(crane digest "$source")"
}

# pin_images: the file has the images by their tags.
pin_images() {
  sed -i -e "s|\(: \)${DATABASE%@*}\$|\1$DATABASE|" -e "s|\(: \)${BENCHMARK%@*}\$|\1$BENCHMARK|" "$1"
}

# chart: a copy that names the image by its digest.
chart() {
  local digest number=${VERSION#v}
  digest=$(cat "$OUT/digest")
  cp -r charts/galera-operator "$OUT/chart"
  sed -i -e "s|^  repository: .*|  repository: $IMAGE|" -e "s|^  digest: \"\"|  digest: \"$digest\"|" "$OUT/chart/values.yaml"
  pin_images "$OUT/chart/values.yaml"
  helm package "$OUT/chart" --destination "$OUT" --version "$number" --app-version "$VERSION"
  rm -r "$OUT/chart"
  helm push "$OUT/galera-operator-$number.tgz" "oci://$REGISTRY/charts" ${HELM_PUSH:-}
  sign sign "$REGISTRY/charts/galera-operator@$(crane digest "$REGISTRY/charts/galera-operator:$number")"
}

rm -rf "$OUT"
mkdir -p "$OUT"
DATABASE=$(pinned DEFAULT_IMAGE config/manager/manager.yaml) BENCHMARK=$(pinned BENCHMARK_IMAGE config/benchmarks/deployment.yaml)
step "image $VERSION" image
step "sign the image" sign_image
step "chart" chart
make --no-print-directory dist OUT="$OUT" IMG="$IMAGE@$(cat "$OUT/digest")"
pin_images "$OUT/install.yaml"
# shellcheck disable=SC2086 # several arguments
RELEASE_VERSION=${VERSION#v} step "programs, SBOMs, checksums, signature" goreleaser release --clean ${GORELEASER:-}
cp "$OUT"/galera-operator-*.tgz "$OUT"/install.yaml "$OUT"/image.spdx.json "$OUT"/digest dist/
