#!/usr/bin/env bash
# Refuses a release that no one has reviewed: the tag has to be a version, and the commit it names has to be on the main branch.
#   hack/release-admit.sh TAG MAIN
set -euo pipefail
tag=$1 main=$2
if [[ ! $tag =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$ ]]; then
  echo "the tag $tag is no version vX.Y.Z or vX.Y.Z-PRE: a release is made of such a tag only" >&2
  exit 1
fi
commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}") || {
  echo "there is no tag $tag" >&2
  exit 1
}
if ! git merge-base --is-ancestor "$commit" "$main"; then
  echo "the tag $tag names $commit, which is not on $main: merge it first, then tag the commit on $main" >&2
  exit 1
fi
