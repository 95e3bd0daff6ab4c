#!/usr/bin/env bash
# Generates again what is generated, alongside the tree, and compares; renders every kustomization.
#   hack/verify.sh CONTROLLER_GEN KUSTOMIZE CRD_REF_DOCS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

controller_gen=$1 kustomize=$2 crd_ref_docs=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# same GENERATED CHECKED_IN
same() {
  if ! diff -ru "$2" "$1"; then
    echo "$2 is not what is generated: run make generate manifests" >&2
    failed=1
  fi
}

"$controller_gen" object paths=./api/... output:object:dir="$dir/object"
"$controller_gen" crd paths=./api/... output:crd:dir="$dir/crd"
go run ./hack/bounds "$dir/crd"
"$controller_gen" rbac:roleName=galera-operator-manager paths=./controllers/{clusterref,galera{cluster,backup,backupstore,backupschedule,database,user,proxy,restore}}/... output:rbac:dir="$dir/rbac"
"$controller_gen" rbac:roleName=galera-operator-benchmarks paths=./internal/bench/galerabenchmark/... output:rbac:dir="$dir/benchmarks"
same "$dir/object/zz_generated.deepcopy.go" api/v1alpha1/zz_generated.deepcopy.go
same "$dir/crd" config/crd/bases
same "$dir/rbac/role.yaml" config/rbac/role.yaml
same "$dir/benchmarks/role.yaml" config/benchmarks/role.yaml

hack/reference.sh "$crd_ref_docs" "$dir/reference.md"
same "$dir/reference.md" docs/reference.md

# The chart, from config/.
cp -r charts/galera-operator "$dir/chart"
"$kustomize" build config/default | go run ./hack/chart -chart "$dir/chart"
same "$dir/chart" charts/galera-operator

for module in . cmd/bench-runner; do
  go -C "$module" mod tidy -diff || {
    echo "$module/go.mod is not tidy: run go mod tidy in $module" >&2
    failed=1
  }
done

for folder in config/{default,samples,argocd} config/samples/gitops/{production,flux,argocd}; do
  "$kustomize" build "$folder" >/dev/null || failed=1
done
"$kustomize" build --load-restrictor LoadRestrictionsNone config/local >/dev/null || failed=1

# What is removed with the operator must not take a database along.
if "$kustomize" build config/undeploy |
  grep -E '^(kind: (CustomResourceDefinition|Namespace|GaleraCluster)|  name: galera-operator-deletion-protection)$'; then
  echo "config/undeploy deletes what holds data" >&2
  failed=1
fi

exit "$failed"
