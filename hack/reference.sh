#!/usr/bin/env bash
# Writes the reference of the API from its comments.
#   hack/reference.sh CRD_REF_DOCS FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

"$1" --source-path=api/v1alpha1 --config=hack/reference.yaml --renderer=markdown --output-path="$2" --log-level=ERROR
# Whether a field is optional is said by kubectl explain; in the table it hides the rest.
sed -i -e '/^_Underlying type:_ _\[struct{/d' -e 's/ *\(Optional\|Required\): \\{\\} <br \/>//g' "$2"
