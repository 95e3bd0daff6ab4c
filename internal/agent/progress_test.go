package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestCopyBegun: rsync's copy over old data leaves no directory, and only its donor knows what it gives.
func TestCopyBegun(t *testing.T) {
	for name, c := range map[string]struct {
		giving  *agentapi.Giving
		over    bool
		stale   bool
		unheard bool
		dir     bool
		want    bool
	}{
		"nobody gives":                       {nil, false, false, false, false, false},
		"a full copy":                        {&agentapi.Giving{Kind: agentapi.JoinSST, To: "10.0.0.7", Since: time.Unix(7, 0)}, false, false, false, false, true},
		"one that is over":                   {&agentapi.Giving{Kind: agentapi.JoinSST, To: "10.0.0.7", Since: time.Unix(7, 0)}, true, false, false, false, true},
		"one of which it was not heard when": {&agentapi.Giving{Kind: agentapi.JoinSST, To: "10.0.0.7", Since: time.Unix(7, 0)}, true, false, true, false, false},
		"what is missing only":               {&agentapi.Giving{Kind: agentapi.JoinIST, To: "10.0.0.7", Since: time.Unix(7, 0)}, false, false, false, false, false},
		"to another":                         {&agentapi.Giving{Kind: agentapi.JoinSST, To: "10.0.0.8", Since: time.Unix(7, 0)}, false, false, false, false, false},
		"a donation of before":               {&agentapi.Giving{Kind: agentapi.JoinSST, To: "10.0.0.7", Since: time.Unix(7, 0)}, false, true, false, false, false},
		"MariaBackup's directory":            {nil, false, false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			if c.dir {
				if err := os.Mkdir(filepath.Join(data, ".sst"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			a := &agent{Options: Options{Address: "10.0.0.7", Places: place.Places{Data: data}, Logger: slog.New(slog.DiscardHandler)}}
			a.markers = datadir.Markers{Dir: t.TempDir()}
			a.run.note, a.join = &datadir.Joining{Method: "Rsync"}, &agentapi.Join{Kind: agentapi.JoinIST}
			a.peers = primary("b", func(*agentapi.PeerView) {})
			if !c.unheard {
				a.run.follow.before = a.givenBefore()
			}
			a.peers = primary("b", func(p *agentapi.PeerView) {
				if p.Giving = c.giving; c.over {
					p.Giving, p.Gave = nil, c.giving
				}
			})
			if c.stale {
				a.run.follow.before = a.givenBefore()
			}
			if got := a.noteTransfer(false); got != c.want || a.run.note.Transfer != c.want || (a.join.Kind == agentapi.JoinSST) != c.want {
				t.Errorf("%v, want %v; noted %+v as %s", got, c.want, a.run.note, a.join.Kind)
			}
		})
	}
}

// TestAnotherDonor: the next attempt spares the donor of the last one, unless it was our own disk.
func TestAnotherDonor(t *testing.T) {
	for reason, want := range map[string]string{
		agentapi.FailureTransfer: "b", agentapi.FailureStalled: "b", agentapi.FailureCertificate: "b", agentapi.FailureDiskFull: "",
	} {
		a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
		a.transferFailed(&agentapi.Failure{Reason: reason}, &agentapi.Join{Donor: "b"})
		if a.failedDonor != want || a.failures != 1 {
			t.Errorf("%s: spares %q, want %q; %d failures", reason, a.failedDonor, want, a.failures)
		}
	}
}

// TestFailureEndsWithProgress: an hour of copying must not show why the attempt before it failed.
func TestFailureEndsWithProgress(t *testing.T) {
	a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	a.failure, a.join = &agentapi.Failure{Reason: agentapi.FailureTransfer}, &agentapi.Join{Kind: agentapi.JoinSST}
	began := time.Now()
	a.run.follow.progress = sst.Begin(began)
	a.onLook(sst.Look{At: began.Add(time.Second)})
	if a.failure == nil {
		t.Error("forgotten before anything came")
	}
	a.onLook(sst.Look{At: began.Add(2 * time.Second), Bytes: 1 << 20, Work: 1 << 20})
	if a.failure != nil || a.join.Phase != agentapi.JoinTransferring {
		t.Errorf("still %+v in the phase %s", a.failure, a.join.Phase)
	}
}
