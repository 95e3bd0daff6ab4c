package agent

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// copied is an agent whose server is Synced with a full copy that has just come.
func copied(t *testing.T, data string) *agent {
	t.Helper()
	a, dir := listener(t), t.TempDir()
	a.Places, a.markers = place.Places{Data: data}, datadir.Markers{Dir: dir}
	a.openBook(t)
	a.status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: uuidA, Index: 1}
	a.position, a.image.ServerVersion = at(7), "11.8.6-MariaDB"
	a.versions = made(a.image.ServerVersion)
	a.join.Donor, a.peers = "b", primary("b", func(p *agentapi.PeerView) { p.Tables = a.image.ServerVersion })
	if err := a.markers.SetJoining(*a.run.note); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *agent) nextEvent(t *testing.T) {
	t.Helper()
	select {
	case event := <-a.events:
		event()
	case <-time.After(time.Minute):
		t.Fatal("nothing happens")
	}
}

// TestCopyIsKept: neither mbstream nor rsync brings what it writes to the disk. A copy that a power cut would leave in pieces
// is not noted as complete, and nobody is served from it.
func TestCopyIsKept(t *testing.T) {
	a := copied(t, t.TempDir())
	a.judgeServer()
	if note, err := a.markers.Joining(); err != nil || note == nil || a.run.note == nil || a.run.served {
		t.Fatalf("taken for complete before it is on the disk: %+v (%v), served: %v", note, err, a.run.served)
	}
	a.judgeServer() // the next status, meanwhile
	a.nextEvent(t)
	if note, err := a.markers.Joining(); err != nil || note != nil || a.run.note != nil || !a.run.served {
		t.Errorf("still %+v (%v), served: %v", note, err, a.run.served)
	}
}

// TestIncompleteAfterCrash: what a note of a join would make of the data after a crash is what the member says of them before.
func TestIncompleteAfterCrash(t *testing.T) {
	serves := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA}
	for name, c := range map[string]struct {
		note   *datadir.Joining
		status *agentapi.Server
		want   bool
	}{
		"no join":      {nil, serves, false},
		"a full copy":  {&datadir.Joining{Transfer: true}, serves, true},
		"an increment": {&datadir.Joining{Method: "MariaBackup"}, serves, false},
		"an increment by rsync that has not come":   {&datadir.Joining{Method: "Rsync"}, nil, false},
		"one by rsync whose note cannot be removed": {&datadir.Joining{Method: "Rsync"}, serves, true},
	} {
		a := &agent{}
		if a.status, a.run.note = c.status, c.note; a.incompleteAfterCrash() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// TestCopyIsKeptWhileTheServerStarts: nobody has to wait for it twice.
func TestCopyIsKeptWhileTheServerStarts(t *testing.T) {
	a := copied(t, t.TempDir())
	status, began := a.status, time.Now()
	a.status, a.run.follow.progress = nil, sst.Begin(began)
	a.onLook(sst.Look{At: began.Add(time.Second), Bytes: 1 << 20})
	if a.run.follow.keeping {
		t.Fatal("before all of it is there")
	}
	a.onLook(sst.Look{At: began.Add(2 * time.Second), Bytes: 1 << 20, Ended: true})
	a.nextEvent(t)
	if !a.run.follow.kept || a.run.note == nil {
		t.Fatalf("on the disk: %v, noted: %+v", a.run.follow.kept, a.run.note)
	}
	a.status = status
	if a.judgeServer(); a.run.note != nil || !a.run.served {
		t.Errorf("still %+v, served: %v", a.run.note, a.run.served)
	}
}

// TestCopyCannotBeKept: the server goes, and the note stays.
func TestCopyCannotBeKept(t *testing.T) {
	a := copied(t, filepath.Join(t.TempDir(), "gone"))
	a.judgeServer()
	a.nextEvent(t)
	<-a.proc.Done()
	if note, err := a.markers.Joining(); err != nil || note == nil || a.run.served || a.failures != 1 {
		t.Errorf("%+v (%v), served: %v, failures: %d", note, err, a.run.served, a.failures)
	}
	if f := a.failure; f == nil || f.Reason != agentapi.FailureTransfer {
		t.Errorf("%+v", f)
	}
}

// TestIncrementIsKeptByTheServer: what is applied one by one is InnoDB's business.
func TestIncrementIsKeptByTheServer(t *testing.T) {
	a := copied(t, filepath.Join(t.TempDir(), "gone"))
	a.run.note.Transfer, a.join.Kind = false, agentapi.JoinIST
	a.judgeServer()
	if a.run.note != nil || !a.run.served {
		t.Errorf("waits: %+v, served: %v", a.run.note, a.run.served)
	}
}
