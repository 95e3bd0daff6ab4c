package mariadbd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// transferMarks are how the programs of a transfer begin what they complain of.
var transferMarks = []string{"WSREP_SST: [ERROR]", "] E ", "] W SSL_", "] N SSL_", "] I SSL_", "mbstream:", "zstd:",
	"rsync error:", "rsync:", "LOG3[", "command not found",
	"No space left on device", "Failed to get "}

// socatMessage is what socat logs after the time, its process and the weight.
var socatMessage = regexp.MustCompile(`socat\[\d+\] [EWNI] (.*)`)

// transferNoise is what follows every failure.
var transferNoise = []string{"Cleanup after exit", "Removing ", "exiting with status", "sigterm",
	"Failed to get current position"}

// transferReasons are searched for in this order, in the whole output.
var transferReasons = []struct {
	reason string
	signs  []string
}{
	{agentapi.FailureDiskFull, []string{"No space left on device", "Errcode: 28", "Disk is full"}},
	{agentapi.FailureCertificate, []string{"certificate verify failed", "unknown ca", "certificate unknown",
		"bad certificate", "certificate has expired",
		"wrong version number", "alert unknown ca", "no peer certificate", "certificate required", "packet length too long"}},
	{agentapi.FailureToolMissing, []string{"command not found", "not found in path", "not found in PATH"}},
	{agentapi.FailureDonorLost, donorLost},
}

// donorLost is what Galera logs when nothing will come.
var donorLost = []string{"Will never receive state", "donor has left", "State transfer request failed"}

// scriptExit is how mariadbd logs with which error its transfer script ended.
var scriptExit = regexp.MustCompile(`Process completed with error: (wsrep_sst_[a-z_]+) .*: (\d+) \(`)

// TransferBroke reports whether a server that joined with data of its own ended, by its last lines, because what
// it was missing did not come: an incremental transfer begins with a stream of the same scripts as a full one.
func TransferBroke(exit Exit) bool {
	return slices.ContainsFunc(exit.Lines, func(line string) bool {
		return scriptExit.MatchString(line) || containsAny(line, donorLost)
	})
}

// TransferFailure returns, from the last lines of a server whose transfer failed, which of the
// contract's reasons that was and, in words, the exit codes and what the transfer's programs logged.
func TransferFailure(exit Exit) (reason, message string) {
	reason = agentapi.FailureTransfer
	for _, r := range transferReasons {
		if slices.ContainsFunc(exit.Lines, func(line string) bool { return containsAny(line, r.signs) }) {
			reason = r.reason
			break
		}
	}
	message = fmt.Sprintf("mariadbd ended with exit code %d", exit.Code)
	if exit.Signal != 0 {
		message = fmt.Sprintf("mariadbd ended with signal %d", exit.Signal)
	}
	for _, line := range exit.Lines {
		if m := scriptExit.FindStringSubmatch(line); m != nil {
			message = m[1] + " ended with exit code " + m[2]
		}
	}
	if said := transferMessage(exit.Lines); said != "" {
		return reason, message + ": " + said
	}
	if why := Why(exit.Lines); why != "" {
		return reason, message + ": " + why
	}
	return reason, message
}

// transferMessage picks what the transfer's programs said, the first three different lines: what comes
// later follows from them.
func transferMessage(lines []string) string {
	var found []string
	for _, line := range lines {
		if !containsAny(line, transferMarks) || containsAny(line, transferNoise) {
			continue
		}
		line = strip(line)
		if m := socatMessage.FindStringSubmatch(line); m != nil {
			line = "socat: " + m[1]
		}
		if !slices.Contains(found, line) && len(found) < keptLines {
			found = append(found, line)
		}
	}
	return strings.Join(found, "; ")
}
