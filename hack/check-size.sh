#!/usr/bin/env bash
# A file over 400 lines does more than one job. Generated files do not count.
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
exit "$failed"
