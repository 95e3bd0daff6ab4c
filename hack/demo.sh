#!/usr/bin/env bash
# Makes the sample cluster in the local Kubernetes, shows how it comes up, and prints what
# was observed of its encryption. Needs hack/stack.sh first.
#   NAMESPACE=demo SAMPLE=config/samples/galera.yaml hack/demo.sh
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAMESPACE=${NAMESPACE:-demo}
SAMPLE=${SAMPLE:-$REPO_DIR/config/samples/galera.yaml}
TIMEOUT=${TIMEOUT:-600}

kubectl_demo() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" -n "$NAMESPACE" "$@"; }

# The namespace admits only pods that need no privileges.
namespace() {
  kubectl_demo apply -f - <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $NAMESPACE
  labels:
    pod-security.kubernetes.io/enforce: restricted
YAML
}

# status_lines: "member TEXT" for each node, and the conditions, one per line.
status_lines() {
  kubectl_demo get galera "$1" -o go-template='
{{- range .status.members}}{{.name}} {{or .phase "Unknown"}}{{with .componentState}}, {{.}}{{end}}{{with .nodeState}}, {{.}}{{end}}{{with .message}}: {{.}}{{end}}
{{end}}{{range .status.conditions}}{{if or (eq .type "Ready") (eq .type "Encrypted")}}{{.type}}={{.status}} {{.reason}}: {{.message}}
{{end}}{{end}}' 2>/dev/null || true
}

# is_ready: for the spec as it is now, not for an earlier one.
# shellcheck disable=SC2016 # $g is the template's
is_ready() {
  [ "$(kubectl_demo get galera "$1" -o go-template='
{{- $g := .metadata.generation}}{{range .status.conditions}}{{if eq .type "Ready"}}{{if eq .observedGeneration $g}}{{.status}}{{end}}{{end}}{{end}}' 2>/dev/null)" = True ]
}

# follow: prints every line of the status when it is new.
follow() {
  local name=$1 start=$SECONDS line
  local -A last=()
  while :; do
    while read -r line; do
      [ -n "$line" ] || continue
      if [ "${last[${line%%[ =]*}]:-}" != "$line" ]; then
        last[${line%%[ =]*}]=$line
        log "  ${line/ /  }"
      fi
    done < <(status_lines "$name")
    if is_ready "$name"; then
      log "$name is Ready after $((SECONDS - start)) s"
      return 0
    fi
    if [ $((SECONDS - start)) -ge "$TIMEOUT" ]; then
      die "$name is not Ready after $TIMEOUT s; see: kubectl --context $CONTEXT -n $NAMESPACE describe galera $name"
    fi
    sleep 1
  done
}

# proof: one line for each channel of each node.
# shellcheck disable=SC2016 # $n is the template's
proof() {
  {
    echo "NODE|CHANNEL|OBSERVED|PROTOCOL|CIPHER|CERTIFICATE|PLAINTEXT"
    kubectl_demo get galera "$1" -o go-template='
{{- define "enforced"}}{{.observed}}|by configuration|-|-|-{{with .message}} ({{.}}){{end}}
{{end}}{{- define "channel"}}{{.observed}}|{{or .protocol "-"}}|{{or .cipher "-"}}|{{or .serial "-"}}|{{if .plaintextRefused}}refused{{else}}-{{end}}{{with .message}} ({{.}}){{end}}
{{end}}{{range .status.members}}{{$n := .name}}{{with .tls}}
{{- with .replication}}{{$n}}|replication 4567, 4568|{{template "channel" .}}{{end}}
{{- with .stateTransfer}}{{$n}}|state transfer 4444|{{template "enforced" .}}{{end}}
{{- with .clients}}{{$n}}|clients 3306|{{template "channel" .}}{{end}}{{end}}{{end}}'
  } | table
}

# table: columns as wide as they need to be.
table() {
  awk -F'|' '
    NF { rows++; for (i = 1; i <= NF; i++) { cell[rows, i] = $i; if (length($i) > width[i]) width[i] = length($i) } if (NF > columns) columns = NF }
    END { for (r = 1; r <= rows; r++) { line = ""; for (i = 1; i <= columns; i++) line = line sprintf("%-" (width[i] + 2) "s", cell[r, i]); sub(/ +$/, "", line); print "  " line } }'
}

how_to_connect() {
  local name=$1 context="--context $CONTEXT -n $NAMESPACE"
  cat <<TEXT

Its password and the certificate a client needs to trust:
  kubectl $context get secret $name-root -o jsonpath='{.data.password}' | base64 -d
  kubectl $context get configmap $name-ca -o jsonpath='{.data.ca\.crt}' >ca.crt

A client inside of it, verifying what it talks to:
  kubectl $context exec -it $name-0 -c mariadb -- sh -c \\
    'MYSQL_PWD=\$(cat /etc/galera-operator/root/password) exec mariadb -h $name-primary -u root \\
     --ssl-ca=/etc/galera-operator/tls/ca.crt --ssl-verify-server-cert'

A client on this machine (mariadb -h localhost --protocol=tcp -u root -p --ssl-ca=ca.crt):
  kubectl $context port-forward service/$name-primary 3306

Look at it:       kubectl $context get galera $name -o yaml
Take one away:    kubectl $context delete pod $name-0
Remove it all:    make down
TEXT
}

name=$(kubectl_demo create --dry-run=client -o name -f "$SAMPLE")
name=${name##*/}
step "create the namespace $NAMESPACE" namespace
step "apply ${SAMPLE#"$REPO_DIR/"}" kubectl_demo apply -f "$SAMPLE"
follow "$name"
echo
echo "What was observed on each node, by dialling it with TLS and without (4444 listens only during a transfer):"
proof "$name"
how_to_connect "$name"
