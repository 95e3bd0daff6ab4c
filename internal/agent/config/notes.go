package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// Roles of a transfer script.
const (
	RoleDonor  = "donor"
	RoleJoiner = "joiner"
)

// TransferNote is what a transfer script records when it begins.
type TransferNote struct {
	Role string
	PID  int
	// Kind is JoinIST for a donor's script with --bypass, else JoinSST; a joiner's script does
	// not know it.
	Kind string
	// Host is the joiner's address.
	Host string
}

// notesScript returns shell text for the file bash reads before each transfer script. It appends the note
// to a file, with what the script was called with; the secret in the address is left out.
func notesScript(notes string) string {
	return `	(
		role= to= kind=` + agentapi.JoinSST + `
		while [ $# -gt 0 ]; do
			case "$1" in
			--role) role=$2 && shift ;;
			--address) to=$2 && shift ;;
			--bypass) kind=` + agentapi.JoinIST + ` ;;
			esac
			shift
		done
		to=${to##*@}
		case "$to" in
		"["*) to=${to#"["} to=${to%%"]"*} ;;
		*) to=${to%%[:/]*} ;;
		esac
		echo "$role $$ $kind $to" >>` + notes + `
	) 2>/dev/null || :
`
}

// TransferNotes returns all notes in a file, oldest first. A file that is not there has none, and a line that
// is not complete is not one yet.
func TransferNotes(path string) []TransferNote {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []TransferNote
	for _, line := range strings.SplitAfter(string(data), "\n") {
		fields := strings.Fields(line)
		if !strings.HasSuffix(line, "\n") || len(fields) < 3 || len(fields) > 4 {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		n := TransferNote{Role: fields[0], PID: pid, Kind: fields[2]}
		if len(fields) == 4 {
			n.Host = fields[3]
		}
		out = append(out, n)
	}
	return out
}

// Running returns whether the script that wrote the note still runs.
func (n TransferNote) Running() bool {
	data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(n.PID), "cmdline"))
	return err == nil && strings.Contains(string(data), "wsrep_sst_")
}

// prepareLog is where the transfer script lets mariadb-backup write while it prepares.
const prepareLog = "mariabackup.prepare.log"

// PreparingSince returns whether mariadb-backup --prepare has started after since; a log of an earlier SST may still be
// there.
func PreparingSince(dataDir string, since time.Time) bool {
	info, err := os.Stat(filepath.Join(dataDir, prepareLog))
	return err == nil && info.ModTime().After(since)
}

const (
	// backupLog is where the transfer script lets mariadb-backup write while it backs up a donor.
	backupLog = "mariabackup.backup.log"
	// backupLogEnd is how much of its end is read, in bytes. The reason is in its last lines.
	backupLogEnd = 16 << 10
)

// BackupFailure returns, from what mariadb-backup has logged on this donor after since, why it failed and what can be
// done about that; "" unless both are known.
func BackupFailure(dataDir string, since time.Time) string {
	f, err := os.Open(filepath.Join(dataDir, backupLog))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().After(since) {
		return ""
	}
	end, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-backupLogEnd), backupLogEnd))
	if err != nil {
		return ""
	}
	return mariadbd.Remedy(strings.Split(strings.ToValidUTF8(string(end), ""), "\n"))
}
