#!/usr/bin/env bash
# Starts an S3 server in the local cluster, to try backups out, and makes the Secret "s3" with its credentials and CA in the namespace of the
# sample cluster, as config/samples/backup/store.yaml wants it. Needs hack/stack.sh first.
#   NAMESPACE=demo hack/object-store.sh
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAMESPACE=${NAMESPACE:-demo}
STORE=s3

kubectl_in() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" -n "$@"; }

# secret_value NAME KEY: of a Secret of the store, "" when there is none.
secret_value() {
  kubectl_in "$STORE" get secret "$1" --ignore-not-found -o "jsonpath={.data.${2//./\\.}}" | base64 -d
}

start() {
  local access secret
  kubectl_in "$STORE" create namespace "$STORE" --dry-run=client -o yaml | kubectl_in "$STORE" apply -f -
  access=$(secret_value s3-root ROOT_ACCESS_KEY)
  secret=$(secret_value s3-root ROOT_SECRET_KEY)
  access=${access:-$(head -c 10 /dev/urandom | base32)}
  secret=${secret:-$(head -c 25 /dev/urandom | base32)}
  manifest "$access" "$secret" | kubectl_in "$STORE" apply -f -
  kubectl_in "$STORE" wait --for=condition=Ready pod/s3 --timeout="${PATIENCE}s"
}

# manifest ACCESS SECRET: the store's objects. Printed by the shell itself, because arguments of programs can be seen.
manifest() {
  local text
  text=$(<"$HACK_DIR/manifests/object-store.yaml")
  text=${text//'${NAMESPACE}'/$STORE}
  text=${text//'${IMAGE}'/$OBJECT_STORE_IMAGE}
  text=${text//'${ACCESS_KEY}'/$1}
  printf '%s\n' "${text//'${SECRET_KEY}'/$2}"
}

# credentials: the Secret that a GaleraBackupStore names. Through files, because arguments can be seen.
credentials() {
  local dir
  dir=$(mktemp -d)
  secret_value s3-root ROOT_ACCESS_KEY >"$dir/access-key-id"
  secret_value s3-root ROOT_SECRET_KEY >"$dir/secret-access-key"
  secret_value s3-tls tls.crt >"$dir/ca.crt"
  kubectl_in "$NAMESPACE" create secret generic s3 --from-file="$dir" --dry-run=client -o yaml | kubectl_in "$NAMESPACE" apply -f -
  rm -r "$dir"
}

step "start an S3 server (https://s3.$STORE.svc:9000, bucket backups)" start
step "make the Secret s3 with its credentials in the namespace $NAMESPACE" credentials
