#!/usr/bin/env bash
# Removes the CRDs from the cluster of the current context, unless an object of theirs is left: it would go with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for crd in $(kubectl get -k config/crd --ignore-not-found -o 'jsonpath={.items[*].metadata.name}{.metadata.name}'); do
  if ! left=$(kubectl get "$crd" --all-namespaces --no-headers -o 'custom-columns=:.metadata.namespace,:.metadata.name'); then
    echo "cannot list $crd; nothing was removed" >&2
    exit 1
  fi
  if [ -n "$left" ]; then
    printf 'these %s are left, and would be deleted with their CRD:\n%s\n' "$crd" "$left" >&2
    echo "delete them first, while the operator runs; nothing was removed" >&2
    exit 1
  fi
done
kubectl delete --ignore-not-found -k config/crd
kubectl delete --ignore-not-found -k config/admission
