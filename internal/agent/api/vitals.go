package api

import (
	"sync/atomic"
	"time"
)

// Vitals are what the probe port needs of the agent in addition to its report. Safe for concurrent use.
type Vitals struct {
	beat  atomic.Int64
	donor atomic.Bool
}

// Beat notes that the loop has turned.
func (v *Vitals) Beat() { v.beat.Store(time.Now().UnixNano()) }

// Alive returns when it turned last.
func (v *Vitals) Alive() time.Time { return time.Unix(0, v.beat.Load()) }

// SetDonorReady sets whether a node that gives its state to another still serves.
func (v *Vitals) SetDonorReady(ready bool) { v.donor.Store(ready) }

// DonorReady is what was said last.
func (v *Vitals) DonorReady() bool { return v.donor.Load() }
