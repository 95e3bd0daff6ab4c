package mariadbd

import (
	"strings"
	"testing"
)

// TestToolWhy: what can be done about a failure of mariadb-backup is reported with its own line.
func TestToolWhy(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"the redo log (10.11)": {[]string{"[00] an error of before",
			"[00] 2026-11-24 Was only able to copy log from 100 to 200, not 300; try increasing innodb_log_file_size", "end"},
			"not 300; try increasing innodb_log_file_size (InnoDB has written over its redo log before it was copied: raise " +
				"innodb_log_file_size"},
		"the redo log (11.8)": {[]string{"[00] Was only able to copy log from 100 to 200, not 300",
			"mariabackup: Try increasing the innodb_log_file_size."}, "raise innodb_log_file_size in spec.mariadb.config"},
		"open files": {[]string{"[ERROR] InnoDB: Operating system error number 24 in a file operation.",
			"Too many open files"}, "raise the container runtime's hard limit (nofile)"},
		"another": {[]string{"one", "[ERROR] it failed", "two"}, "[ERROR] it failed"},
		"none":    {[]string{"one", "two "}, "two"},
		"nothing": {nil, "it has logged nothing"},
	} {
		if got := ToolWhy(c.lines); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
