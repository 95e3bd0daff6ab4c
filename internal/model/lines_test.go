package model

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestLinesAreThoseOfTheAgents compares the model's rule for a history of its own with the agents'.
func TestLinesAreThoseOfTheAgents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ours, theirs lines
		var own, peer galera.Lineage
		shared := rapid.IntRange(0, 4).Draw(t, "shared")
		for epoch := range int64(len(ours)) {
			x := lineage{epoch + 1, int8(rapid.IntRange(0, 6).Draw(t, "start"))}
			who := 2
			if int(epoch) >= shared {
				who = rapid.IntRange(0, 3).Draw(t, "whose")
			}
			line := galera.Line{Epoch: x.epoch, Start: galera.Position{UUID: galera.ZeroUUID, Seqno: int64(x.start)}}
			if who == 0 || who == 2 {
				ours.add(x)
				own = then(own, line)
			}
			if who == 1 || who == 2 {
				theirs.add(x)
				peer = then(peer, line)
			}
		}
		at := rapid.IntRange(0, 8).Draw(t, "at")
		_, want := peer.Diverged(own, galera.Position{UUID: galera.ZeroUUID, Seqno: int64(at)})
		if got := theirs.diverges(&ours, int8(at)); got != want {
			t.Fatalf("own %v at %d, peer %v: the model says %t, the agents %t", ours, at, theirs, got, want)
		}
	})
}

// then begins with a first line: histories of which the beginning is not known are not in the model.
func then(l galera.Lineage, line galera.Line) galera.Lineage {
	if l.Epoch == 0 {
		return galera.FirstLine(line)
	}
	return l.Then(line)
}
