package mycnf

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// creation has the settings that a data directory keeps from its creation, by normalised name, with MariaDB's defaults.
var creation = map[string]string{
	"innodb-page-size":       "16384",
	"innodb-data-file-path":  "ibdata1:12M:autoextend",
	"lower-case-table-names": "0",
}

// AtCreation returns the settings that a new data directory must be created with, in order.
func AtCreation(settings map[string]string) []Option {
	var out []Option
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if _, kept := creation[Normalise(key)]; kept && Refused(key, settings[key]) == "" {
			out = append(out, Set(Normalise(key), settings[key]))
		}
	}
	return out
}

// Kept is a setting that a data directory keeps, with the value it has.
type Kept struct{ Name, Value string }

// Unchangeable returns the first setting that differs between those a data directory was created with and those that
// are wanted, nil when none does.
func Unchangeable(created, wanted map[string]string) *Kept {
	was, is := effective(created), effective(wanted)
	for _, name := range slices.Sorted(maps.Keys(creation)) {
		if number(was[name]) != number(is[name]) {
			return &Kept{Name: strings.ReplaceAll(name, "-", "_"), Value: was[name]}
		}
	}
	return nil
}

// effective are the values of all settings of creation.
func effective(settings map[string]string) map[string]string {
	out := maps.Clone(creation)
	for _, o := range AtCreation(settings) {
		out[o.Key] = strings.TrimSpace(o.Value)
	}
	return out
}

// number writes a size as plain bytes: 16k and 16384 are the same. Any other value stays.
func number(value string) string {
	v := strings.ToLower(value)
	for suffix, shift := range map[string]int{"k": 10, "m": 20, "g": 30} {
		if n, err := strconv.ParseInt(strings.TrimSuffix(v, suffix), 10, 32); err == nil && strings.HasSuffix(v, suffix) {
			return strconv.FormatInt(n<<shift, 10)
		}
	}
	return v
}
