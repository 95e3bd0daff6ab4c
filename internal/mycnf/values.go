package mycnf

import (
	"regexp"
	"slices"
	"strings"
)

// Why a value is refused; these are the reasons of Refused in addition to those of ForbiddenSetting.
const (
	reasonControl    = "its value contains line breaks or other control characters, which an option file cannot hold"
	reasonPath       = "its value must be a plain name, without a path: " + reasonPlaces
	reasonTablespace = "its files must be called ibdata1, ibdata2 …, without a path: by these names the data are " +
		"recognised"
	reasonTimestamp = "with this value the agents cannot give scheduled events the same status on all nodes: only NO " +
		"and SUPER let them set a session's time"
	reasonUnsynced = "with this value InnoDB does not wait for the disk, and a power cut damages the data"
)

// values holds the functions that return what is wrong with the value of a setting that users may set, "" when nothing
// is; by normalised name.
var values = map[string]func(value string) string{
	"log-bin":                    plainName,
	"innodb-temp-data-file-path": noPath,
	"innodb-data-file-path":      systemTablespace,
	"innodb-flush-method":        flushMethod,
	"secure-timestamp":           secureTimestamp,
}

// Refused returns why a [mysqld] setting with this value may not be set by a user, "" when it may.
func Refused(key, value string) string {
	if why, forbidden := ForbiddenSetting(key); forbidden {
		return why
	}
	if CheckSetting(key, value) != nil {
		return reasonControl
	}
	if check := values[Normalise(key)]; check != nil {
		return check(strings.TrimSpace(value))
	}
	return ""
}

var (
	nameOnly   = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	systemFile = regexp.MustCompile(`^ibdata[0-9]+:[0-9]+[KMGkmg]?(:autoextend)?(:autoshrink)?(:max:[0-9]+[KMGkmg]?)?$`)
	// unsynced are values of innodb_flush_method, by name and by number.
	unsynced = []string{"littlesync", "nosync", "o_direct_no_fsync", "2", "3", "5"}
)

func plainName(value string) string {
	if nameOnly.MatchString(value) {
		return ""
	}
	return reasonPath
}

func noPath(value string) string {
	if strings.ContainsAny(value, `/\`) {
		return reasonPath
	}
	return ""
}

func systemTablespace(value string) string {
	files := strings.Split(value, ";")
	if !strings.HasPrefix(files[0], "ibdata1:") ||
		slices.ContainsFunc(files, func(f string) bool { return !systemFile.MatchString(strings.TrimSpace(f)) }) {
		return reasonTablespace
	}
	return ""
}

func flushMethod(value string) string {
	if slices.Contains(unsynced, strings.ToLower(value)) {
		return reasonUnsynced
	}
	return ""
}

// secureTimestamp refuses REPLICATION and YES, also by their numbers.
func secureTimestamp(value string) string {
	if slices.Contains([]string{"replication", "2", "yes", "3"}, strings.ToLower(value)) {
		return reasonTimestamp
	}
	return ""
}
