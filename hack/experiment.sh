#!/usr/bin/env bash
# Runs one benchmark on the local Kubernetes, and leaves its report with its raw data: FOLDER/NAME.md, .json.gz, .csv and .svg.
# Needs hack/stack.sh first. Nothing else should use this machine meanwhile.
#   hack/experiment.sh SAMPLE|FILE.yaml [FOLDER]   default: docs/experiments, a sample of config/samples/benchmarks
set -euo pipefail
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NAMESPACE=${NAMESPACE:-experiments}
FILE=${1:-} FOLDER=${2:-$REPO_DIR/docs/experiments}
[ -n "$FILE" ] || die "usage: hack/experiment.sh SAMPLE|FILE.yaml [FOLDER]"
[ -e "$FILE" ] || FILE=$REPO_DIR/config/samples/benchmarks/$FILE.yaml
[ -e "$FILE" ] || die "there is no $FILE: name a sample of config/samples/benchmarks"
NAME=$(basename "$FILE" .yaml)

kubectl_here() { kubectl --kubeconfig "$CLUSTER_KUBECONFIG" -n "$NAMESPACE" "$@"; }
report() { "$REPO_DIR/bin/kubectl-galera-bench" --kubeconfig "$CLUSTER_KUBECONFIG" -n "$NAMESPACE" report "$@"; }

# condition TYPE: its status and its message.
condition() {
  kubectl_here get gbench "$NAME" -o go-template="{{range .status.conditions}}{{if eq .type \"$1\"}}{{.status}} {{.message}}{{end}}{{end}}"
}

# await: until everything was measured, however long that takes. A benchmark that is Stalled ends it. To ask more often would take
# processor time from what is measured.
await() {
  while ! kubectl_here wait --for=condition=Complete --timeout=60s "gbench/$NAME" >/dev/null 2>&1; do
    if [[ "$(condition Stalled)" == True* ]]; then die "$NAME is stalled: $(condition Stalled)"; fi
    sleep 5 # when there was no answer
    log "$NAME: $(kubectl_here get gbench "$NAME" -o jsonpath='{.status.progress}' || true)"
  done
}

# page: the report with its picture, and where the raw data are.
page() {
  cat <<MD
# $NAME

Measured by \`make experiment SAMPLE=$NAME\`. Raw data: [$NAME.json.gz]($NAME.json.gz), and a line for every run in
[$NAME.csv]($NAME.csv). \`gunzip -k $NAME.json.gz && kubectl galera bench report $NAME.json -o md\` computes the
tables anew, without a cluster.

MD
  report "$1" -o md
  printf '\n![The first round over time](%s.svg)\n' "$NAME"
}

# A report names the commit that it measured.
if [ $# -lt 2 ] && ! git -C "$REPO_DIR" diff --quiet HEAD -- . ':!docs'; then
  die "the source has changes that are not committed: commit them first, or name another FOLDER for the report"
fi
kubectl_here get namespace "$NAMESPACE" >/dev/null 2>&1 || kubectl_here create namespace "$NAMESPACE" >&2
kubectl_here delete --ignore-not-found -f "$FILE" >&2 # one of an earlier time is measured anew
kubectl_here apply -f "$FILE" >&2
await
mkdir -p "$FOLDER"
cd "$FOLDER"
report "$NAME" -o json >"$NAME.json"
for format in csv svg; do report "$NAME.json" -o "$format" >"$NAME.$format"; done
page "$NAME.json" >"$NAME.md"
gzip -nf9 "$NAME.json" # the series of all runs: a twentieth of the size
kubectl_here delete -f "$FILE" >&2
log "$FOLDER has $NAME.md, .json.gz, .csv and .svg: link the page in docs/experiments.md, and name it in mkdocs.yml"
