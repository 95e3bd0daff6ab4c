// Package lease decides whether the nodes of a site may accept writes, so that those of two never do. The site that
// writes renews its lease: it announces in the store that it has one, and then reads that no promotion is recorded
// there. Its nodes accept writes for a while after that. A site that takes over records its promotion, then looks for
// an announcement, and waits until no renewal from before the record lets a node of the other one accept writes.
//
// Times are durations by the own monotonic clock; no clock is compared with another one. A renewal answers questions
// that were asked before it began, and counts from then by the clock of who has asked: the program that renews needs no
// clock, and may stand still at any moment. Any number of programs may renew one lease.
package lease

import "time"

const (
	// Every is how often the lease is renewed.
	Every = 5 * time.Second
	// Valid is for how long a renewal lets a node accept writes, counted from when its agent has asked.
	Valid = 30 * time.Second
	// Closing is how long before that ends a server is made read-only. One that is not by then is killed.
	Closing = 8 * time.Second
	// drift bounds how fast clocks may run: one twentieth too fast or too slow is far more than any does.
	drift = 20
	// Wait is how long after its record a site accepts writes that takes over.
	Wait = Valid + 2*Valid/drift
)

// Step is a part of a renewal.
type Step int

// The steps of a renewal.
const (
	Ask      Step = iota // get the agents' questions
	Announce             // write that there is a lease, unless the store has that
	Look                 // read whether a promotion is recorded: the questions are answered if none is
)

// Steps is their order. A site that takes over records that first, and looks for an announcement afterwards: so, one of
// both sees what the other one has done.
var Steps = []Step{Ask, Announce, Look}

// Holder is what an agent knows of the renewals of its site, by its own clock.
type Holder struct {
	// Asked is when the agent has asked the last question that was answered. Known reports whether there was one.
	Asked time.Duration `json:"asked,omitempty"`
	Known bool          `json:"known,omitempty"`
}

// Left is for how long the server may accept writes, 0 for not any more.
func (h Holder) Left(now time.Duration) time.Duration {
	if !h.Known || now < h.Asked {
		return 0
	}
	return max(0, Valid-Valid/drift-(now-h.Asked))
}

// Ends reports whether the server is to refuse writes.
func (h Holder) Ends(now time.Duration) bool { return h.Left(now) <= Closing }

// Hear takes the answer to a question. One to an earlier question than the known one counts for nothing.
func (h *Holder) Hear(asked time.Duration) {
	if !h.Known || asked > h.Asked {
		*h = Holder{Asked: asked, Known: true}
	}
}

// Unwanted is what an agent knows of a lease that is turned off. A renewal from before it has read that does not show
// that no other site had taken over by then.
type Unwanted struct {
	// Number names the time at which it was turned off, 0 for a lease that is wanted. ReadAt is when that was read.
	Number int64
	ReadAt time.Duration
}

// Read takes the number of the configuration.
func (u *Unwanted) Read(number int64, now time.Duration) {
	if number != u.Number {
		*u = Unwanted{Number: number, ReadAt: now}
	}
}

// Heard returns the number once a renewal counts that was asked for after it was read, 0 until then.
func (u Unwanted) Heard(h Holder) int64 {
	if !h.Known || h.Asked <= u.ReadAt {
		return 0
	}
	return u.Number
}

// Taker is what a site knows that takes over.
type Taker struct {
	// Recorded reports whether the store has its record, which was known at RecordedAt.
	Recorded   bool
	RecordedAt time.Duration
	// Looked reports whether it was looked for an announcement since then, and Announced whether there is one.
	Looked, Announced bool
}

// MayWrite reports whether the site may accept writes.
func (t Taker) MayWrite(now time.Duration) bool {
	return t.Recorded && t.Looked && (!t.Announced || now-t.RecordedAt >= Wait)
}
