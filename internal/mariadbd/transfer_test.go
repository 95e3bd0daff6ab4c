package mariadbd

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestTransferBroke(t *testing.T) {
	for line, want := range map[string]bool{
		"2026-11-21 12:00:04 0 [ERROR] WSREP: Process completed with error: wsrep_sst_mariabackup --role 'joiner' " +
			"--address '10.0.0.2' : 32 (Broken pipe)": true,
		"2026-11-21 12:00:04 0 [ERROR] WSREP: gcs/src/gcs_group.cpp:1: Will never receive state. Need to abort.": true,
		"2026-11-21 12:00:04 0 [ERROR] unknown variable 'x=1'":                                                   false,
		"WSREP_SST: [INFO] Removing the sst_in_progress file (20261122 11:21:28.569)":                            false,
	} {
		if got := TransferBroke(Exit{Code: 1, Lines: []string{"first", line}}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// TestTransferFailure: what real servers said, shortened.
func TestTransferFailure(t *testing.T) {
	const ended = "2026-11-21 12:00:04 0 [ERROR] WSREP: Process completed with error: wsrep_sst_mariabackup --role " +
		"'joiner' --address '10.0.0.2' : 32 (Broken pipe)"
	for name, c := range map[string]struct {
		exit   Exit
		reason string
		parts  []string
	}{
		"certificate": {Exit{Code: 1, Lines: []string{
			"2026/11/21 12:00:03 socat[77] E SSL_accept(): error:0A000086:SSL routines::certificate verify failed",
			"WSREP_SST: [ERROR] Error while getting data from donor node: exit codes: 1 0 (20261121 12:00:03.1)",
			"WSREP_SST: [ERROR] Cleanup after exit with status: 32 (20261121 12:00:03.2)", ended}},
			agentapi.FailureCertificate, []string{"wsrep_sst_mariabackup ended with exit code 32",
				"socat: SSL_accept(): error:0A000086", "exit codes: 1 0"}},
		"certificate, logged quietly": {Exit{Code: -1, Signal: 6, Lines: []string{
			"2026/11/22 12:36:29 socat[12] I SSL_accept(): error:0A000418:SSL routines::tlsv1 alert unknown ca",
			"2026/11/22 12:36:29 socat[12] I SSL_accept(): error:0A000418:SSL routines::tlsv1 alert unknown ca",
			"2026-11-22 12:34:39 0 [Warning] WSREP: 2.0 (wrong-2): State transfer to 0.0 (wrong-1) failed: Broken pipe",
			"2026-11-22 12:34:39 0 [ERROR] WSREP: ./gcs/src/gcs_group.cpp:gcs_group_handle_join_msg():1225: Will never " +
				"receive state. Need to abort."}},
			agentapi.FailureCertificate,
			[]string{"mariadbd ended with signal 6: socat: SSL_accept(): error:0A000418:SSL routines::tlsv1 alert unknown ca"}},
		"disk": {Exit{Code: 1, Lines: []string{
			"\a/usr//bin/mbstream: Error writing file './app/t.ibd' (Errcode: 28 \"No space left on device\")",
			"WSREP_SST: [ERROR] Error while getting data from donor node: exit codes: 0 1", ended}},
			agentapi.FailureDiskFull, []string{"exit code 32: /usr//bin/mbstream", "./app/t.ibd"}},
		"donor gone": {Exit{Code: 1, Lines: []string{
			"2026-11-21 12:00:04 0 [ERROR] WSREP: gcs/src/gcs_group.cpp:1: Will never receive state. Need to abort."}},
			agentapi.FailureDonorLost, []string{"mariadbd ended with exit code 1"}},
		"no zstd": {Exit{Code: 1, Lines: []string{"/usr/bin/wsrep_sst_mariabackup: line 1: zstd: command not found", ended}},
			agentapi.FailureToolMissing, []string{"zstd: command not found"}},
		"anything": {Exit{Code: 1, Lines: []string{"2026-11-21 12:00:04 0 [ERROR] WSREP: something odd"}},
			agentapi.FailureTransfer, []string{"exit code 1", "something odd"}},
		"silence": {Exit{Code: -1, Signal: 6}, agentapi.FailureTransfer, []string{"signal 6"}},
	} {
		reason, message := TransferFailure(c.exit)
		if reason != c.reason {
			t.Errorf("%s: reason %s, want %s", name, reason, c.reason)
		}
		for _, part := range c.parts {
			if !strings.Contains(message, part) {
				t.Errorf("%s: %q lacks %q", name, message, part)
			}
		}
		if strings.Contains(message, "Cleanup") {
			t.Errorf("%s: noise in %q", name, message)
		}
	}
}
