#!/usr/bin/env bash
# Words that comments, messages and documents may not use, with what the field says instead (docs/glossary.md), and
# the width of Markdown.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
# refuse PATTERN INSTEAD: an extended regular expression, not in the history of changes nor in what is generated from elsewhere.
# The Unix user nobody is no word.
refuse() {
  local found
  found=$(git grep -nIE -e "$1" --and --not -e 'chown .*nobody' -- '*.go' '*.sh' '*.md' '*.yaml' ':!CHANGELOG.md' ':!hack/check-words.sh' ':!hack/manifests' || true)
  [ -n "$found" ] || return 0
  printf '%s\n' "$found" >&2
  echo "use $2 instead" >&2
  failed=1
}

refuse '(^|[^-/&*_[:alnum:]])[Bb]eside [a-z]' 'alongside, next to, in addition to'
refuse '\b[Mm]end(s|ed)?\b [a-z]' 'fix'
refuse '\b[Ww]hoever\b' 'anyone who'
refuse '\b[Ss]omebody\b' 'someone'
refuse '\bsays? (that|whether|why|what|how|which)\b' '"reports whether", "returns", "explains why"'
refuse '\b([Tt]old|[Hh]indrance|[Nn]obody|[Ss]eldom|[Ff]arewell (to|from)|[Oo]bey)\b' 'reported, blocker, no one, rarely, drain, carry out'
refuse '\b[Ww]ish(es|ed)?\b' 'desired state, request'
refuse '[a-z]Most\b' 'a name that begins with max'
refuse '\b[Rr]ooms?\b' 'space, component, supervisor'
refuse '\bfunc (\([^)]*\) )?(look|reach|way|tell|wish|farewell)([A-Z][A-Za-z]*)?\(' 'a verb of the field: read, check, poll, find'
refuse '\btype (look|reach|ways?|tell|moods?)\b|\b(look|reach|ways?|moods?)\b(, [a-z]+)* :?= ' 'a name for what it holds'
refuse '\b([Dd]eaf|[Cc]ondemned)\b' 'blocksOrders, mustTerminate'
refuse '\b[Uu]nder way\b' 'in progress'
refuse '\bon (its|their) way (out|down|into)\b' 'terminating, stopping'
refuse '\b[Ll]ook(s|ed)? whether\b|\b[Hh]ave a look\b|\b(a|the|next|last|first) look\b' 'check'
refuse '\btells? (that|whether|why|how|what|which|of)\b' 'reports, shows, describes'
refuse '\bhow soon\b|\bsoon after\b' 'when, shortly after'

# Prose of Markdown has lines of at most 120 columns. Tables, code, images and the targets of links cannot be wrapped.
long=$(git ls-files -z '*.md' ':!docs/reference.md' ':!docs/experiments' |
  xargs -0 awk 'FNR == 1 { code = 0 } /^ *(```|~~~)/ { code = !code; next }
    !code && !/^ *`[^`]*`[.,;:]?$/ && !/^ *(\||<|!\[|\[[^]]*\]:)/ && !/^(    |\t)/ { print FILENAME ":" FNR "\t" $0 }' |
  LC_ALL=C.UTF-8 grep -P '\t.{121,}$' || true)
if [ -n "$long" ]; then
  printf '%s\n' "$long" | cut -c1-160 >&2
  echo "wrap prose at 120 columns" >&2
  failed=1
fi
exit "$failed"
