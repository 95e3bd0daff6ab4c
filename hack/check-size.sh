#!/usr/bin/env bash
# A file over 400 lines, or a type with more than 25 methods, does more than one job. Generated files do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=400 failed=0
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  if [ "$lines" -gt "$limit" ]; then
    echo "$file has $lines lines; split it (limit: $limit)" >&2
    failed=1
  fi
done < <(find . \( -name bin -o -name .git -o -name dist \) -prune -o \
  \( -name '*.go' -o -name '*.sh' \) ! -name 'zz_generated.*' -print)

# Methods count for the type that they are written for, not for those that embed it.
methods=25
types=$(git ls-files -co --exclude-standard '*.go' | grep -v -e _test.go -e zz_generated | while IFS= read -r file; do [ ! -e "$file" ] || echo "$file"; done |
  xargs awk '
    match($0, /^func \([A-Za-z0-9_]* ?\*?[A-Za-z0-9_]+/) {
      type = substr($0, RSTART, RLENGTH); sub(/^func \(([A-Za-z0-9_]+ )?\*?/, "", type)
      folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
      count[folder "." type]++
    }
    END { for (t in count) print count[t], t }' | sort -rn)
[ -n "$types" ] || { echo "no type was found" >&2; exit 1; }
while read -r count type; do
  [ "$count" -gt "$methods" ] || break
  echo "$type has $count methods; split it (limit: $methods)" >&2
  failed=1
done <<<"$types"
exit "$failed"
