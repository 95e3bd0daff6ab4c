// Package redact takes secrets out of texts: values that are known, and what looks like one. It is pure.
package redact

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redactor replaces secrets, and counts what it has replaced. It is not safe for concurrent use.
type Redactor struct {
	known []value
	// taken counts replacements by what they were.
	taken map[string]int
}

// value is a text that is known to be secret, and where it comes from.
type value struct {
	text, label string
	// word: short ones are replaced only where nothing adjoins them.
	word *regexp.Regexp
}

// Lengths of values, in bytes: shorter ones than least are reported by their place alone (password=…), shorter ones
// than free are replaced as whole words, and a line of a longer value is replaced by itself from line on.
const (
	least = 3
	free  = 8
	line  = 24
)

// New returns a Redactor that knows no values.
func New() *Redactor { return &Redactor{taken: map[string]int{}} }

// Know adds a secret value; label reports people what it was, for instance Secret shop-root/password.
func (r *Redactor) Know(label, text string) {
	forms := []string{text, url.QueryEscape(text), url.PathEscape(text), base64.StdEncoding.EncodeToString([]byte(text)),
		strings.TrimSpace(text)}
	if len(text) >= line {
		for one := range strings.Lines(text) {
			if one = strings.TrimSpace(one); len(one) >= line && !strings.HasPrefix(one, "-----") {
				forms = append(forms, one) // indented, for instance in YAML
			}
		}
	}
	for _, form := range forms {
		if len(form) < least || slices.ContainsFunc(r.known, func(v value) bool { return v.text == form }) {
			continue
		}
		v := value{text: form, label: label}
		if len(form) < free {
			v.word = regexp.MustCompile(`(^|[^\w])` + regexp.QuoteMeta(form) + `($|[^\w])`)
		}
		r.known = append(r.known, v)
	}
	// The longest first: one value may be a part of another.
	slices.SortStableFunc(r.known, func(a, b value) int { return len(b.text) - len(a.text) })
}

// pattern is what looks like a secret.
type pattern struct {
	name string
	find *regexp.Regexp
	// to replaces it; $1 … are what is kept.
	to string
}

// taken is what stands instead of a secret.
const gone = "[REDACTED]"

var patterns = []pattern{
	{"private key",
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), gone},
	{"age identity", regexp.MustCompile(`AGE-SECRET-KEY-[A-Z0-9-]+`), gone},
	{"JSON web token", regexp.MustCompile(`eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+`), gone},
	{"access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), gone},
	{"authorization", regexp.MustCompile(`(?i)(authorization"?\s*[:=]\s*"?(?:bearer|basic)\s+)[^\s",]+`), "${1}" + gone},
	{"signature of a URL", regexp.MustCompile(`(?i)([?&](?:x-amz-signature|x-amz-security-token|sig|signature)=)[^&\s"]+`),
		"${1}" + gone},
	{"password in a URL", regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+@`), "${1}" + gone + "@"},
	{"password in a DSN", regexp.MustCompile(`(\b[\w.-]+:)[^\s:@/"']+(@(?:tcp|unix)\()`), "${1}" + gone + "${2}"},
	{"password in SQL", regexp.MustCompile(
		`(?i)(\b(?:identified\s+(?:by|with\s+\S+\s+(?:by|as)|(?:via|with)\s+\S+\s+(?:using|as|by))|or\s+\w+\s+using|using)\s+(?:password\s*\(\s*)?)('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")`), "${1}'" + gone + "'"},
	{"password in SQL", regexp.MustCompile(`(?i)(\bpassword\s*\(\s*)('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")`),
		"${1}'" + gone + "'"},
	{"password hash", regexp.MustCompile(`\*[0-9A-F]{40}\b`), gone},
	{"password or key by its name", regexp.MustCompile(
		`(?i)([\w.-]*(?:password|passwd|passphrase|mysql_pwd|[_-]pwd|token|api[_-]?key|secret[_-]?key|secret[_-]?access[_-]?key|access[_-]?key|sst_auth|private[_-]?key)["']?[ \t]*[:=][ \t]*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'{\[][^\s"']*)`), "${1}" + gone},
	{"password or key by its name", regexp.MustCompile(`(?i)(--(?:password|token|passphrase)[ =])([^\s"']+)`),
		"${1}" + gone},
}

// harmless values by name are not secret: switches, and what was taken out already.
var harmless = regexp.MustCompile(`(?i)[:=][ \t]*["']?(true|false|null|~|yes\)|no\)|""|''|\[redacted\])["']?[,}]*$`)

// Text returns a text without secrets.
func (r *Redactor) Text(text string) string {
	for _, v := range r.known {
		if !strings.Contains(text, v.text) {
			continue
		}
		if v.word == nil {
			r.taken[v.label] += strings.Count(text, v.text)
			text = strings.ReplaceAll(text, v.text, gone)
			continue
		}
		// Twice: neighbours share what is between them.
		for range 2 {
			r.taken[v.label] += len(v.word.FindAllStringIndex(text, -1))
			text = v.word.ReplaceAllString(text, "${1}"+gone+"${2}")
		}
	}
	for _, p := range patterns {
		text = p.find.ReplaceAllStringFunc(text, func(found string) string {
			if harmless.MatchString(found) {
				return found
			}
			r.taken["what looks like a "+p.name]++
			return p.find.ReplaceAllString(found, p.to)
		})
	}
	return text
}

// Object takes secrets out of an object, in place: environment variables whose names state that they are secret, and
// annotations that hold a copy of the whole object. What only looks like a secret is left to Text.
func (r *Redactor) Object(o map[string]any) {
	if metadata, is := o["metadata"].(map[string]any); is {
		delete(metadata, "managedFields")
		if annotations, is := metadata["annotations"].(map[string]any); is {
			if _, has := annotations[lastApplied]; has {
				annotations[lastApplied] = gone
				r.taken["copies of objects in annotations"]++
			}
		}
	}
	r.walk(o)
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

var secretName = regexp.MustCompile(`(?i)pass|secret|token|key|pwd|credential|auth`)

func (r *Redactor) walk(at any) {
	switch at := at.(type) {
	case map[string]any:
		name, named := at["name"].(string)
		if v, is := at["value"].(string); named && is && v != "" && secretName.MatchString(name) {
			at["value"] = gone
			r.taken["values of environment variables"]++
		}
		for _, v := range at {
			r.walk(v)
		}
	case []any:
		for _, v := range at {
			r.walk(v)
		}
	}
}

// Summary describes what was taken out, one line for each kind, without any of it.
func (r *Redactor) Summary() (lines []string) {
	for _, what := range slices.Sorted(maps.Keys(r.taken)) {
		if n := r.taken[what]; n > 0 {
			lines = append(lines, fmt.Sprintf("%5d  %s", n, what))
		}
	}
	return lines
}
