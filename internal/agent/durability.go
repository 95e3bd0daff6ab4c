package agent

import (
	"errors"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// copyDurable says that what has come by a full copy is on the disk, and sees to it that it comes there. Neither mbstream nor rsync
// does, and InnoDB only for what it writes itself: after a power cut, pieces would be taken for the data that the copy was
// noted as. Until then the note of the join stays, and nobody is served.
func (a *agent) copyDurable() bool {
	f := &a.run.follow
	if a.run.note == nil || !a.run.note.Transfer || f.kept {
		return true
	}
	if !f.keeping {
		f.keeping = true
		proc := a.proc
		go func() {
			err := datadir.SyncAll(a.Places.Data)
			a.post(func() { a.onCopyDurable(proc, err) })
		}()
	}
	return false
}

// onCopyDurable goes on where the copy is on the disk. One that cannot be brought there is worth nothing: the kernel tells of a
// failed write once, and another attempt would seem to succeed.
func (a *agent) onCopyDurable(proc *server.Process, err error) {
	switch {
	case a.proc != proc || a.run.stopping || a.run.condemned:
	case err != nil:
		f := &agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(), Message: "the full copy could not be brought to the disk: " + err.Error()}
		if errors.Is(err, syscall.ENOSPC) {
			f.Reason = agentapi.FailureDiskFull
		}
		a.endTransfer(f)
	default:
		a.run.follow.kept = true
		if a.status != nil {
			a.judgeServer()
		}
	}
}

// incompleteAfterCrash says that what is here would count as half a copy if the server ended now: a full copy that is not on the
// disk yet, and after any join by rsync whatever its note is still there for.
func (a *agent) incompleteAfterCrash() bool {
	n := a.run.note
	return n != nil && (n.Transfer || n.Method == servercnf.Rsync && lifecycle.HasState(a.status))
}
