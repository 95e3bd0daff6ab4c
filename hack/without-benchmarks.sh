#!/usr/bin/env bash
# The core without the benchmarks: a copy of the tree without their folders, the programs that measure (test/bench), and
# the benchmarks' tests among those of the API and of clusters (benchmark_*_test.go). It builds, the tests of all its
# packages pass, and those that need an API server or a cluster compile.
#   hack/without-benchmarks.sh [PACKAGE...]   default: all packages whose tests need neither; with KUBEBUILDER_ASSETS set,
#                                             ./test/api/ may be named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOFLAGS=-trimpath\ -tags=disable_grpc_modules
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
folders='(internal/bench|cmd/(benchmarks|bench-runner|kubectl-galera-bench)|test/bench)/'
git ls-files -z --cached --others --exclude-standard |
  grep -zvE "^($folders|test/(api|e2e)/benchmark_[^/]*_test\.go$)" |
  while IFS= read -rd '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
  xargs -0 cp --parents -t "$copy"
cd "$copy"
packages=("$@")
[ $# -gt 0 ] || packages=(./api/... ./cmd/... ./controllers/... ./hack/... ./internal/... ./test/model/...)
[ ! -e internal/bench ]
[ ! -e test/bench ]
[ -z "$(find test -name 'benchmark_*_test.go')" ]
go build ./api/... ./cmd/... ./controllers/... ./internal/...
go vet ./test/...
go test -timeout=30m "${packages[@]}"
