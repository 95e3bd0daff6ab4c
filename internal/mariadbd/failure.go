package mariadbd

import (
	"slices"
	"strings"
	"syscall"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// What mariadbd, Galera and the transfer scripts log when they know why they give up.
var (
	diskFull = []string{"No space left on device", "Disk is full", "error: 28", "Errcode: 28",
		"exceeds available storage space"}
	diverged   = []string{"states diverged"}
	badSetting = []string{"unknown variable", "unknown option", "ambiguous option", "option without preceding group",
		"requires an argument", "Unknown suffix", "Error while setting value", "Unknown storage engine",
		"Illegal or unknown default time zone", "start-up parameter is", "is of a different size", "for --secure-file-priv"}
)

// Classify returns for which of the contract's reasons a server gave up, from its last lines.
func Classify(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		switch {
		case containsAny(line, diskFull):
			return agentapi.FailureDiskFull
		case containsAny(line, diverged):
			return agentapi.FailureDiverged
		case containsAny(line, badSetting):
			return agentapi.FailureSettings
		}
	}
	return agentapi.FailureStart
}

// Passes reports whether Galera gave up for something that the next attempt does not meet: a peer that still keeps a
// connection of this one.
func Passes(exit Exit) bool {
	return slices.ContainsFunc(exit.Lines, func(line string) bool {
		return strings.Contains(line, "A node with the same UUID already exists in the cluster")
	})
}

// SettingsToBlame reports whether a server that ended before it served may have done so for its settings, and whether
// that is certain. What Galera complains about, a transfer that broke and a kill have other causes.
func SettingsToBlame(exit Exit) (certain, possible bool) {
	reason := Classify(exit.Lines)
	certain = reason == agentapi.FailureSettings
	galera := strings.Contains(Why(exit.Lines), "WSREP") || TransferBroke(exit) || exit.Signal == syscall.SIGKILL ||
		exit.Signal == syscall.SIGTERM
	return certain, certain || reason == agentapi.FailureStart && !galera
}

// remedies are what a user can do about a failure of mariadb-backup, by its output.
var remedies = []struct {
	says   []string
	remedy string
}{
	{[]string{"Was only able to copy log from", "Try increasing the innodb_log_file_size"},
		"InnoDB has written over its redo log before it was copied: raise innodb_log_file_size in spec.mariadb.config, or " +
			"the rate limit of the backup or transfer"},
	{[]string{"Too many open files", "Errcode: 24", "error number 24", "OS error: 24"},
		"the host allows too few open files: raise the container runtime's hard limit (nofile), or have fewer tables"},
}

// Remedy picks from the lines of mariadb-backup one that reports a failure of which it is known what can be done about
// it, and adds that; "" for none.
func Remedy(lines []string) string {
	for _, r := range remedies {
		for _, line := range lines {
			if containsAny(line, r.says) {
				return strings.TrimSpace(line) + " (" + r.remedy + ")"
			}
		}
	}
	return ""
}

// ToolWhy picks from the lines of a tool that failed, mariadb-backup or mbstream, the first that reports an error, and
// else the last one. It adds what can be done about it, where that is known.
func ToolWhy(lines []string) string {
	if why := Remedy(lines); why != "" {
		return why
	}
	for _, line := range lines {
		if l := strings.ToLower(line); strings.Contains(l, "error") || strings.Contains(l, "failed") ||
			strings.Contains(l, "can't ") {
			return strings.TrimSpace(line)
		}
	}
	if len(lines) == 0 {
		return "it has logged nothing"
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
