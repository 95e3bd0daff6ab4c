package join

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestCopyBegun: rsync's copy over old data leaves no directory, and only its donor knows what it gives.
func TestCopyBegun(t *testing.T) {
	for name, c := range map[string]struct {
		giving  *agentapi.Donation
		over    bool
		stale   bool
		unheard bool
		dir     bool
		want    bool
	}{
		"no donor gives": {nil, false, false, false, false, false},
		"a full copy": {&agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.7",
			Since: time.Unix(7, 0)}, false, false, false, false, true},
		"one that is over": {&agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.7",
			Since: time.Unix(7, 0)}, true, false, false, false, true},
		"one of which it was not heard when": {&agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.7",
			Since: time.Unix(7, 0)}, true, false, true, false, false},
		"what is missing only": {&agentapi.Donation{Kind: agentapi.JoinIST, To: "10.0.0.7",
			Since: time.Unix(7, 0)}, false, false, false, false, false},
		"to another": {&agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.8",
			Since: time.Unix(7, 0)}, false, false, false, false, false},
		"a donation of before": {&agentapi.Donation{Kind: agentapi.JoinSST, To: "10.0.0.7",
			Since: time.Unix(7, 0)}, false, true, false, false, false},
		"MariaBackup's directory": {nil, false, false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			if c.dir {
				if err := os.Mkdir(filepath.Join(data, ".sst"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			a := joiner(t)
			a.places.Data = data
			a.Run.Note, a.Join = &datadir.Joining{Method: "Rsync"}, &agentapi.Join{Kind: agentapi.JoinIST}
			a.Group.Views = agenttest.Primary("b", func(*agentapi.PeerView) {})
			if !c.unheard {
				a.reports.earlier = earlierTransfers(a.address, a.Group.Views)
			}
			a.Group.Views = agenttest.Primary("b", func(p *agentapi.PeerView) {
				if p.Donation = c.giving; c.over {
					p.Donation, p.LastDonation = nil, c.giving
				}
			})
			if c.stale {
				a.reports.earlier = earlierTransfers(a.address, a.Group.Views)
			}
			if got := a.recordSST(false); got != c.want || a.Run.Note.SST != c.want ||
				(a.Join.Kind == agentapi.JoinSST) != c.want {
				t.Errorf("%v, want %v; noted %+v as %s", got, c.want, a.Run.Note, a.Join.Kind)
			}
		})
	}
}

// TestFailureEndsWithProgress: an hour of copying must not show why the attempt before it failed.
func TestFailureEndsWithProgress(t *testing.T) {
	a := joiner(t)
	a.Run.Attempts.Failure, a.Join = &agentapi.Failure{Reason: agentapi.FailureTransfer},
		&agentapi.Join{Kind: agentapi.JoinSST}
	began := time.Now()
	a.progress = lifecycle.BeginSST(began)
	a.onObservation(lifecycle.SSTObservation{At: began.Add(time.Second)})
	if a.Run.Attempts.Failure == nil {
		t.Error("forgotten before anything came")
	}
	a.onObservation(lifecycle.SSTObservation{At: began.Add(2 * time.Second), Bytes: 1 << 20, Work: 1 << 20})
	if a.Run.Attempts.Failure != nil || a.Join.Phase != agentapi.JoinTransferring {
		t.Errorf("still %+v in the phase %s", a.Run.Attempts.Failure, a.Join.Phase)
	}
}

// TestCopyIsSyncedToDisk: neither mbstream nor rsync brings what it writes to the disk. A copy that a power cut would
// leave in pieces is not noted as complete.
func TestCopyIsSyncedToDisk(t *testing.T) {
	r, next := copied(t)
	r.Judge()
	if note, err := r.markers.Joining(); err != nil || note == nil || r.Run.Note == nil {
		t.Fatalf("taken for complete before it is on the disk: %+v (%v)", note, err)
	}
	r.Judge() // the next status, meanwhile
	next()
	r.Judge()
	if note, err := r.markers.Joining(); err != nil || note != nil || r.Run.Note != nil {
		t.Errorf("still %+v (%v)", note, err)
	}
	if v := r.Exam.Versions; v.Tables != "11.4.2-MariaDB" || v.Used != "11.8.6-MariaDB" {
		t.Errorf("the tables are the donor's: %+v", v)
	}
}

// copied returns a Tracker whose server is Synced with a full copy that has just come, and what handles the next event.
func copied(t *testing.T) (r *JoinerTracker, next func()) {
	t.Helper()
	r = joiner(t)
	q, loop := agenttest.Loop()
	r.loop = loop
	r.Run.Status = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: agenttest.UUID, Index: 1}
	r.Run.Position, r.Image.ServerVersion = agenttest.At(7), "11.8.6-MariaDB"
	r.Join.Donor, r.Group.Views = "b", agenttest.Primary("b", func(p *agentapi.PeerView) { p.Tables = "11.4.2-MariaDB" })
	if err := r.markers.SetJoining(*r.Run.Note); err != nil {
		t.Fatal(err)
	}
	return r, func() { agenttest.Next(t, q) }
}

// TestProofOfTheFormerFilesIsForgotten: what was known of the files that a copy has replaced is forgotten before the
// copy is noted as complete: an agent that is killed in between does it again. Write-sets one by one replace no files.
func TestProofOfTheFormerFilesIsForgotten(t *testing.T) {
	r, next := copied(t)
	var err error
	forgotten := 0
	r.events.Copied = func() error {
		if note, found := r.markers.Joining(); found != nil || note == nil {
			t.Errorf("noted as complete before: %+v, %v", note, found)
		}
		forgotten++
		return err
	}
	err = errors.New("no")
	r.Judge()
	next()
	if r.Judge(); forgotten == 0 || r.Run.Note == nil {
		t.Errorf("forgotten %d times, noted: %+v", forgotten, r.Run.Note)
	}
	err = nil
	if r.Judge(); r.Run.Note != nil {
		t.Errorf("still %+v", r.Run.Note)
	}

	r, _ = copied(t)
	r.Run.Note.SST, r.known = false, true
	r.events.Copied = func() error { t.Error("after write-sets"); return nil }
	if r.Judge(); r.Run.Note != nil {
		t.Errorf("still %+v", r.Run.Note)
	}
}

// TestUnprovedWriteSets: an SST by rsync that no donor has reported looks like write-sets. What is known of the former
// files is forgotten unless a donor has reported that it gave write-sets, or nothing has come.
func TestUnprovedWriteSets(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		from    int64 // of a join that ends at 7
		kind    string
		forgets bool
	}{
		"nothing is reported":         {config.Rsync, 5, "", true},
		"write-sets are":              {config.Rsync, 5, agentapi.JoinIST, false},
		"nothing has come":            {config.Rsync, 7, "", false},
		"an SST would leave traces":   {config.MariaBackup, 5, "", false},
		"to another node, before it":  {config.Rsync, 5, "another", true},
		"of a directory that was new": {config.Rsync, -1, "", true},
	} {
		r, _ := copied(t)
		r.Run.Note.SST, r.Run.Note.Method, r.known = false, c.method, true
		r.Run.From = agenttest.At(c.from)
		r.reports.earlier = map[string]time.Time{"b": {}}
		r.Group.Views = agenttest.Primary("b", func(p *agentapi.PeerView) {
			switch c.kind {
			case "another":
				gave("10.0.0.8", 9)(p)
			case agentapi.JoinIST:
				gave(r.address, 9)(p)
			}
		})
		forgotten := 0
		var err error
		r.events.Unproved = func() error {
			if note, found := r.markers.Joining(); found != nil || note == nil {
				t.Errorf("%s: noted as complete before: %+v, %v", name, note, found)
			}
			forgotten++
			return err
		}
		err = errors.New("no")
		if r.Judge(); c.forgets && r.Run.Note == nil {
			t.Errorf("%s: complete, and not forgotten", name)
		}
		err = nil
		if r.Judge(); r.Run.Note != nil || (forgotten > 0) != c.forgets {
			t.Errorf("%s: forgotten %d times, still %+v", name, forgotten, r.Run.Note)
		}
	}
}

// TestCopyIsSyncedOnceWhileTheServerStarts: it is not waited for twice.
func TestCopyIsSyncedOnceWhileTheServerStarts(t *testing.T) {
	r, next := copied(t)
	status, began := r.Run.Status, time.Now()
	r.Run.Status, r.progress = nil, lifecycle.BeginSST(began)
	r.onObservation(lifecycle.SSTObservation{At: began.Add(time.Second), Bytes: 1 << 20})
	if r.syncing {
		t.Fatal("before all of it is there")
	}
	r.onObservation(lifecycle.SSTObservation{At: began.Add(2 * time.Second), Bytes: 1 << 20, Ended: true})
	next()
	if !r.synced || r.Run.Note == nil {
		t.Fatalf("on the disk: %v, noted: %+v", r.synced, r.Run.Note)
	}
	r.Run.Status = status
	if r.Judge(); r.Run.Note != nil {
		t.Errorf("still %+v", r.Run.Note)
	}
}

// TestCopyThatCannotBeSyncedFails: the server goes, and the note stays.
func TestCopyThatCannotBeSyncedFails(t *testing.T) {
	r, next := copied(t)
	r.places.Data = filepath.Join(t.TempDir(), "gone")
	r.Judge()
	next()
	<-r.Run.Proc.Done()
	if note, err := r.markers.Joining(); err != nil || note == nil || r.Run.Attempts.Failed != 1 {
		t.Errorf("%+v (%v), failures: %d", note, err, r.Run.Attempts.Failed)
	}
	if f := r.Run.Attempts.Failure; f == nil || f.Reason != agentapi.FailureTransfer {
		t.Errorf("%+v", f)
	}
}

// TestISTIsSyncedByTheServer: what is applied one by one is InnoDB's business.
func TestISTIsSyncedByTheServer(t *testing.T) {
	r, _ := copied(t)
	r.places.Data = filepath.Join(t.TempDir(), "gone")
	r.Run.Note.SST, r.known, r.Join.Kind = false, true, agentapi.JoinIST
	if r.Judge(); r.Run.Note != nil {
		t.Errorf("waits: %+v", r.Run.Note)
	}
}

// TestCopyThatIsNeeded: a member whose data have to be replaced serves no client with them.
func TestCopyThatIsNeeded(t *testing.T) {
	r, _ := copied(t)
	r.Run.Note.SST, r.Run.Note.Marked, r.known = false, true, true
	r.Judge()
	<-r.Run.Proc.Done()
	if f := r.Run.Attempts.Failure; f == nil || f.Reason != agentapi.FailureTransfer || r.Run.Note == nil {
		t.Errorf("%+v, %+v", f, r.Run.Note)
	}
}
