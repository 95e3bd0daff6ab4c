#!/usr/bin/env bash
# Prints everything that config/default installs, with another image of the operator:
#   hack/render.sh KUSTOMIZE IMAGE
set -euo pipefail

kustomize=$1 image=$2
repo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# A digest is given as NAME@sha256:..., anything else as NAME:TAG.
case $image in
*@*) version="digest: ${image#*@}" name=${image%@*} ;;
*:*) version="newTag: ${image##*:}" name=${image%:*} ;;
*)
  echo "IMG must name a tag or a digest: $image" >&2
  exit 1
  ;;
esac

mkdir -p "$repo/bin/render"
{
  cat <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../config/default
images:
- name: ghcr.io/galera-operator/galera-operator
  newName: $name
  $version
YAML
  # The same as in config/default, once more, because the image is another one now.
  sed -n '/^replacements:/,$p' "$repo/config/default/kustomization.yaml"
} >"$repo/bin/render/kustomization.yaml"
"$kustomize" build "$repo/bin/render"
