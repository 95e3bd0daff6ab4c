package sst

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Look is what can be seen of a running full transfer on the joiner.
type Look struct {
	At time.Time
	// Bytes of the copy that have arrived.
	Bytes int64
	// Preparing says that the copy has arrived and is made consistent.
	Preparing bool
	// Ended says that the script has done its work: the database starts.
	Ended bool
	// Work is what the transfer's processes have done so far, in no particular unit: while it
	// grows, they are at work.
	Work int64
}

// rateSpan is how far back the rate looks.
const rateSpan = 20 * time.Second

// Progress puts looks together. The zero value is not ready: use Begin.
type Progress struct {
	phase  string
	bytes  int64
	work   int64
	moved  time.Time // when something moved last
	recent []sample
}

type sample struct {
	at    time.Time
	bytes int64
}

// Begin returns the progress of a transfer that begins now.
func Begin(now time.Time) *Progress {
	return &Progress{phase: agentapi.JoinWaiting, moved: now}
}

// Add takes a look into account. Phases only go forward, and bytes only up.
func (p *Progress) Add(l Look) {
	if phase := l.phase(p.bytes); order(phase) > order(p.phase) {
		p.phase, p.moved, p.recent = phase, l.At, nil
	}
	if l.Bytes > p.bytes {
		p.bytes, p.moved = l.Bytes, l.At
	}
	if l.Work > p.work {
		p.work = l.Work
		// A program that waits for its first byte, or for the next, does not work; one that only
		// computes does.
		if p.phase == agentapi.JoinPreparing {
			p.moved = l.At
		}
	}
	p.recent = append(p.recent, sample{l.At, p.bytes})
	for len(p.recent) > 2 && l.At.Sub(p.recent[1].at) >= rateSpan {
		p.recent = p.recent[1:]
	}
}

func (l Look) phase(before int64) string {
	switch {
	case l.Ended:
		return agentapi.JoinApplying
	case l.Preparing:
		return agentapi.JoinPreparing
	case max(l.Bytes, before) > 0:
		return agentapi.JoinTransferring
	}
	return agentapi.JoinWaiting
}

func order(phase string) int {
	for i, p := range []string{agentapi.JoinWaiting, agentapi.JoinTransferring, agentapi.JoinPreparing, agentapi.JoinApplying} {
		if p == phase {
			return i
		}
	}
	return -1
}

// Phase is the present one.
func (p *Progress) Phase() string { return p.phase }

// Bytes that have arrived.
func (p *Progress) Bytes() int64 { return p.bytes }

// Rate is that of the last twenty seconds, in bytes per second; 0 outside the transfer itself.
func (p *Progress) Rate() int64 {
	if p.phase != agentapi.JoinTransferring || len(p.recent) < 2 {
		return 0
	}
	first, last := p.recent[0], p.recent[len(p.recent)-1]
	span := last.at.Sub(first.at).Seconds()
	if span < 1 {
		return 0
	}
	return int64(float64(last.bytes-first.bytes) / span)
}

// Moved is when something moved last.
func (p *Progress) Moved() time.Time { return p.moved }

// Hold begins patience with the transfer anew: what it writes to does not answer.
func (p *Progress) Hold(now time.Time) { p.moved = now }

// Still is how long nothing has moved. The start of the database is not the transfer's business any more.
func (p *Progress) Still(now time.Time) time.Duration {
	if p.phase == agentapi.JoinApplying {
		return 0
	}
	return now.Sub(p.moved)
}

// CopyStalled says whether a full copy has made no progress for longer than limit. The time before its first byte counts.
func CopyStalled(p *Progress, now time.Time, limit time.Duration) bool {
	return p != nil && p.Still(now) > limit
}
