package mycnf

import (
	"maps"
	"math"
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

// Created are all settings that a data directory keeps when it is created with some settings.
func Created(settings map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range effective(settings) {
		out[strings.ReplaceAll(name, "-", "_")] = value
	}
	return out
}

// effective are the values of all settings of creation.
func effective(settings map[string]string) map[string]string {
	out := maps.Clone(creation)
	for _, o := range AtCreation(settings) {
		out[o.Key] = strings.TrimSpace(o.Value)
	}
	return out
}

// LowerCaseTableNames is the server's lower_case_table_names with settings.
func LowerCaseTableNames(settings map[string]string) int {
	n, _ := strconv.Atoi(effective(settings)["lower-case-table-names"]) // the server takes what is no number for 0
	return n
}

// number writes a size as plain bytes: 16k and 16384 are the same. Any other value stays.
func number(value string) string {
	if n, ok := Bytes(value); ok {
		return strconv.FormatInt(n, 10)
	}
	return strings.ToLower(value)
}

// Bytes is a size as MariaDB reads it: 16k is 16384. ok is false for what is none.
func Bytes(value string) (n int64, ok bool) {
	digits := strings.TrimSpace(value)
	shift := 0
	if last := len(digits) - 1; last > 0 {
		if i := strings.IndexByte("kmgtpe", digits[last]|0x20); i >= 0 {
			digits, shift = digits[:last], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, false
	}
	return n << shift, true
}
