#!/usr/bin/env bash
# The core without the benchmarks: a copy of the tree in which their folders are removed builds, and the tests of all its
# packages pass. The API and end-to-end tests are those of an installation with both, and are not a part of it.
#   hack/without-benchmarks.sh [PACKAGE...]   default: all packages of the programs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOFLAGS=-trimpath\ -tags=disable_grpc_modules
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard |
  grep -zvE '^(internal/bench|cmd/(benchmarks|bench-runner|kubectl-galera-bench))/' |
  while IFS= read -rd '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
  xargs -0 cp --parents -t "$copy"
cd "$copy"
packages=("$@")
[ $# -gt 0 ] || packages=(./api/... ./cmd/... ./controllers/... ./hack/... ./internal/... ./test/model/...)
[ ! -e internal/bench ]
go build ./api/... ./cmd/... ./controllers/... ./internal/...
go test -timeout=30m "${packages[@]}"
