package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// SSTObservation is what the joiner sees of its running SST.
type SSTObservation struct {
	At time.Time
	// Bytes of the SST that have arrived.
	Bytes int64
	// Preparing is true while mariadb-backup --prepare makes the received data consistent.
	Preparing bool
	// Ended is true once the script has ended: mariadbd starts with the data.
	Ended bool
	// Work grows with any I/O and CPU time of the SST's processes; it has no unit.
	Work int64
}

// rateSpan is how far back the rate looks.
const rateSpan = 20 * time.Second

// SSTProgress sums up observations. The zero value is not ready: use Begin.
type SSTProgress struct {
	phase  string
	bytes  int64
	work   int64
	moved  time.Time // when the last progress was seen
	recent []sample
}

type sample struct {
	at    time.Time
	bytes int64
}

// BeginSST returns the progress of a transfer that begins now.
func BeginSST(now time.Time) *SSTProgress {
	return &SSTProgress{phase: agentapi.JoinWaiting, moved: now}
}

// Add takes an observation into account. Phases only go forward, and bytes only up.
func (p *SSTProgress) Add(l SSTObservation) {
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

func (l SSTObservation) phase(before int64) string {
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
	for i, p := range []string{agentapi.JoinWaiting, agentapi.JoinTransferring, agentapi.JoinPreparing,
		agentapi.JoinApplying} {
		if p == phase {
			return i
		}
	}
	return -1
}

// Phase is the present one.
func (p *SSTProgress) Phase() string { return p.phase }

// Bytes that have arrived.
func (p *SSTProgress) Bytes() int64 { return p.bytes }

// Rate is that of the last twenty seconds, in bytes per second; 0 outside the transfer itself.
func (p *SSTProgress) Rate() int64 {
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

// Moved is when the last progress was seen.
func (p *SSTProgress) Moved() time.Time { return p.moved }

// ResetStall restarts the stall timeout: the volume is frozen.
func (p *SSTProgress) ResetStall(now time.Time) { p.moved = now }

// Idle is how long there was no progress. While mariadbd starts with the data it is 0: the SST is over.
func (p *SSTProgress) Idle(now time.Time) time.Duration {
	if p.phase == agentapi.JoinApplying {
		return 0
	}
	return now.Sub(p.moved)
}

// SSTStalled returns whether an SST has made no progress for longer than limit. The time before its first byte counts.
func SSTStalled(p *SSTProgress, now time.Time, limit time.Duration) bool {
	return p != nil && p.Idle(now) > limit
}
