#!/usr/bin/env bash
# Checks the release in dist as a user would: signatures, digests, versions. Every failure ends it.
#   VERSION, REGISTRY as for hack/release.sh
#   COSIGN_PUB  the key of a dry run, or IDENTITY  the workflow that signs (a regular expression)
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$REPO_DIR/dist"
: "${VERSION:?}" "${REGISTRY:?}"
number=${VERSION#v}
digest=$(cat digest)
if [ -n "${COSIGN_PUB:-}" ]; then
  verify=(--key "$COSIGN_PUB" --insecure-ignore-tlog)
else
  verify=(--certificate-identity-regexp "${IDENTITY:?}" --certificate-oidc-issuer https://token.actions.githubusercontent.com)
fi

# is WHAT HAVE WANT
is() { [ "$2" = "$3" ] || die "$1 is '$2', and should be '$3'"; }

for file in install.yaml "galera-operator-$number.tgz" checksums.txt checksums.txt.sigstore.json image.spdx.json \
  "galera-operator_${number}_linux_"{amd64,arm64}.tar.gz{,.sbom.json} kubectl-galera{,-bench}"_${number}_"{linux,darwin}_{amd64,arm64}.tar.gz{,.sbom.json}; do
  [ -s "$file" ] || die "dist has no $file"
done
sha256sum --check --strict --quiet checksums.txt
for file in install.yaml "galera-operator-$number.tgz" "galera-operator_${number}_linux_arm64.tar.gz"; do
  grep -q " $file\$" checksums.txt || die "checksums.txt does not name $file"
done
cosign verify-blob "${verify[@]}" --bundle checksums.txt.sigstore.json checksums.txt 2>/dev/null || die "the signature of checksums.txt does not fit"
cosign verify "${verify[@]}" "$REGISTRY/galera-operator@$digest" >/dev/null 2>&1 || die "the image is not signed"
cosign verify-attestation "${verify[@]}" --type spdxjson "$REGISTRY/galera-operator@$digest" >/dev/null 2>&1 || die "the image has no list of its parts"
cosign verify "${verify[@]}" "$REGISTRY/charts/galera-operator:$number" >/dev/null 2>&1 || die "the chart is not signed"

is "the image's platforms" "$(crane manifest "$REGISTRY/galera-operator@$digest" | grep -o '"architecture": *"[a-z0-9]*"' | tr -dc 'a-z0-9\n' | sed s/architecture// | sort | xargs)" "amd64 arm64"
is "the image's programs" "$(crane export --platform linux/arm64 "$REGISTRY/galera-operator@$digest" - | tar -t | sort | xargs)" "agent backup bench-runner benchmarks manager"
is "the image in install.yaml" "$(sed -n 's/^ *image: \(.*galera-operator@.*\)/\1/p' install.yaml | sort -u)" "$REGISTRY/galera-operator@$digest"
rendered=$(helm template galera-operator "galera-operator-$number.tgz")
is "the image in the chart" "$(sed -n 's/^ *image: "\{0,1\}\([^"]*galera-operator@[^"]*\)"\{0,1\}/\1/p' <<<"$rendered" | sort -u)" "$REGISTRY/galera-operator@$digest"
for text in "$(cat install.yaml)" "$rendered"; do
  for variable in DEFAULT_IMAGE BENCHMARK_IMAGE; do
    grep -A1 "name: $variable$" <<<"$text" | grep -qE 'value: "?[^ ]+:[^ ]+@sha256:[0-9a-f]{64}"?$' || die "$variable is not pinned by a digest"
  done
done
is "the chart's appVersion" "$(helm show chart "galera-operator-$number.tgz" | sed -n 's/^appVersion: //p')" "$VERSION"
tar -xzf "galera-operator_${number}_linux_amd64.tar.gz" -C "$RUN" manager agent
tar -xzf "kubectl-galera_${number}_linux_amd64.tar.gz" -C "$RUN" kubectl-galera
tar -xzf "kubectl-galera-bench_${number}_linux_amd64.tar.gz" -C "$RUN" kubectl-galera-bench
for program in manager agent kubectl-galera kubectl-galera-bench; do
  is "the version of $program" "$("$RUN/$program" --version)" "$VERSION"
done
is "the agent in the image" "$(crane export --platform linux/amd64 "$REGISTRY/galera-operator@$digest" - | tar -xO agent | sha256sum | cut -c1-64)" "$(sha256sum "$RUN/agent" | cut -c1-64)"
log "the release $VERSION in dist is complete, and its signatures fit"
