// Package mycnf renders MariaDB option files from typed sections, and defines which settings
// belong to the operator. It is pure and imports nothing but the standard library, so that the
// operator and the agent judge a setting by the same words.
package mycnf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// errBadSetting is returned by CheckSetting for a name or a value an option file cannot carry.
var errBadSetting = errors.New("not a setting an option file can carry")

// Option is one line of an option file. Keys are written as given.
type Option struct {
	Key   string
	Value string
	// Bare writes the key alone, without "=" and value.
	Bare bool
}

// Section is one [group] of an option file. Later options win, as they do for MariaDB.
type Section struct {
	Name    string
	Options []Option
}

// File is an option file: its sections in order.
type File []Section

// Set returns an option with a value.
func Set(key, value string) Option { return Option{Key: key, Value: value} }

// Get returns the last value of a key in a section, comparing names as MariaDB does.
func (f File) Get(section, key string) (string, bool) {
	value, found := "", false
	for _, s := range f {
		if s.Name != section {
			continue
		}
		for _, o := range s.Options {
			if Normalise(o.Key) == Normalise(key) {
				value, found = o.Value, true
			}
		}
	}
	return value, found
}

// Without returns a copy of the section that lacks the named keys.
func (s Section) Without(keys ...string) Section {
	drop := make([]string, len(keys))
	for i, k := range keys {
		drop[i] = Normalise(k)
	}
	out := Section{Name: s.Name}
	for _, o := range s.Options {
		if !slices.Contains(drop, Normalise(o.Key)) {
			out.Options = append(out.Options, o)
		}
	}
	return out
}

// Render returns the text of the file. The same file always gives the same text.
func (f File) Render() string {
	var b strings.Builder
	for i, s := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.Render())
	}
	return b.String()
}

// Render returns the text of one section.
func (s Section) Render() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", s.Name)
	for _, o := range s.Options {
		if o.Bare {
			fmt.Fprintf(&b, "%s\n", o.Key)
			continue
		}
		fmt.Fprintf(&b, "%s = %s\n", o.Key, quote(o.Value))
	}
	return b.String()
}

// quote protects what the option file parser would read as something else: it takes "#" for a
// comment even in the middle of a line, strips spaces at the ends, removes one pair of quotes,
// and reads a backslash as an escape. It reads bytes as latin1, in which the last byte of "à" is a space.
func quote(value string) string {
	if !foreign(value) && !strings.ContainsAny(value, "#'\"\\ \t") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, "\t", `\t`, `"`, `\"`, `'`, `\'`).Replace(value) + `"`
}

// foreign reports whether a value has bytes that are no ASCII.
func foreign(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r >= utf8.RuneSelf })
}

// CheckSetting reports whether a name and its value can be written to an option file at all. It
// does not check whether they are allowed; see ForbiddenSetting.
func CheckSetting(key, value string) error {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !isNameRune(r) }) {
		return fmt.Errorf("%q: %w", key, errBadSetting)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("value of %s: %w", key, errBadSetting)
	}
	return nil
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
