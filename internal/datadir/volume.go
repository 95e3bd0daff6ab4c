package datadir

import (
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// sizesInterval is the pause between two measurements of the volume's sizes.
const sizesInterval = 3 * time.Second

// Volume is not safe for concurrent use (event loop only), except for what is documented to be safe. The zero value
// does everything at once and watches nothing.
type Volume struct {
	*VolumeWatch
	places    platform.Places
	post      func(event func())
	queue     *queue
	sizes     Sizes
	measuring bool
	space     atomic.Pointer[VolumeSpace]
}

// Open makes the volume work outside the loop, which gets results by post.
func (v *Volume) Open(places platform.Places, post func(event func()), watch *VolumeWatch) {
	v.places, v.post, v.VolumeWatch, v.queue = places, post, watch, &queue{}
}

// At sets where the volume is, for one that does everything at once.
func (v *Volume) At(places platform.Places) { v.places = places }

// Do lets the queue do job, behind everything that was asked for before, and hands the loop its error by done.
func (v *Volume) Do(job func() error, done func(error)) {
	if v.queue == nil {
		done(job())
		return
	}
	v.queue.add(func() {
		err := job()
		v.post(func() { done(err) })
	})
}

// After returns a wait, for a worker, until everything that was asked for before is done: notes are written and read in
// the order in which the loop wanted them.
func (v *Volume) After() (wait func()) {
	if v.queue == nil {
		return func() {}
	}
	done := make(chan struct{})
	v.queue.add(func() { close(done) })
	return func() { <-done }
}

// Waiting is how many jobs of the queue have not begun.
func (v *Volume) Waiting() int {
	if v.queue == nil {
		return 0
	}
	return v.queue.waiting()
}

// Hold makes the queue wait for release before it does anything that is asked for later. Tests freeze a volume by it.
func (v *Volume) Hold(release <-chan struct{}) { v.queue.add(func() { <-release }) }

// Sizes are what was measured last.
func (v *Volume) Sizes() Sizes { return v.sizes }

// Take keeps what a worker has measured; a walk that was not made keeps the one before.
func (v *Volume) Take(s Sizes) {
	if s.DataAt.IsZero() {
		s.Data, s.DataAt = v.sizes.Data, v.sizes.DataAt
	}
	v.sizes = s
	v.space.Store(&VolumeSpace{Free: s.Free, Size: s.Total})
}

// Measure lets a worker measure the sizes, that of all files only when walk is set.
func (v *Volume) Measure(walk bool) {
	if v.queue == nil {
		v.Take(MeasureVolume(v.places, walk))
		return
	}
	if v.measuring {
		return
	}
	v.measuring = true
	go func() {
		s := MeasureVolume(v.places, walk)
		v.post(func() {
			v.measuring = false
			v.Take(s)
		})
	}()
}

// Tick measures every few seconds.
func (v *Volume) Tick() {
	if time.Since(v.sizes.At) >= sizesInterval {
		v.Measure(false)
	}
}

// VolumeSpace is what a volume has left, and what it holds in all, in bytes.
type VolumeSpace struct{ Free, Size int64 }

// Space is what was measured last, nil before. Safe for concurrent use.
func (v *Volume) Space() *VolumeSpace { return v.space.Load() }

// Busy implements handover.Part.
func (v *Volume) Busy() string {
	if v.Frozen() || v.measuring || v.queue != nil && v.queue.busy() {
		return "the volume is busy or does not answer"
	}
	return ""
}
