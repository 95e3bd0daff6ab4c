package arbitrator

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// running is an arbitrator whose garbd has said something and runs on.
func running(t *testing.T, contains string) *arbitrator {
	t.Helper()
	a := &arbitrator{Options: Options{Logger: slog.New(slog.DiscardHandler), Places: platform.Places{}}}
	a.subject.Store(&certs.ProofSubject{})
	said := make(chan struct{}, 1)
	proc, err := mariadbd.Start(&a.table, mariadbd.Command{Path: "/bin/sh",
		Args: []string{"-c", "echo '" + contains + "'; exec sleep 60"},
		Log:  func(string) { said <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.Kill)
	<-said
	a.proc = proc
	return a
}

// TestRejectedArbitratorIsReported: a garbd that was turned away keeps running. When its agent ends it for that, its
// last words are the only reason there is, and the next one dials another node.
func TestRejectedArbitratorIsReported(t *testing.T) {
	const word = "handshake failed: error:0A000086:SSL routines::certificate verify failed"
	for _, tc := range []struct {
		s          Situation
		wantReport bool
	}{
		{Situation{Running: true, Uncounted: uncountedTimeout + 1}, true},
		{Situation{Running: true, Ordered: true}, false},
		{Situation{Running: true, Draining: true}, false},
	} {
		a := running(t, word)
		step := Next(tc.s)
		if step.Act != Stop {
			t.Fatalf("%+v: %+v", tc.s, step)
		}
		a.stop(step.Why)
		<-a.proc.Done()
		a.onExit(a.proc)
		if reported := a.failure != nil && strings.Contains(a.failure.Message, word); reported != tc.wantReport ||
			a.failures > 0 != tc.wantReport {
			t.Errorf("%+v: %+v, %d failures", tc.s, a.failure, a.failures)
		}
	}
}
