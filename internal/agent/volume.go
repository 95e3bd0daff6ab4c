package agent

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/place"
	"github.com/galera-operator/galera-operator/internal/usage"
)

const (
	// sizesEvery is the pause between two looks at the volume's sizes, walkLasts how long the size of all files is good for.
	sizesEvery = 3 * time.Second
	walkLasts  = 10 * time.Second
	// settleTime is how long the end of the agent waits for what is on its way to the volume.
	settleTime = 5 * time.Second
)

// volumeQueue does what touches the data volume, one thing after the other, beside the loop: a volume may freeze for
// minutes, and an agent whose loop stands still is killed, with its database.
type volumeQueue struct {
	mu      sync.Mutex
	jobs    []func()
	running bool
}

func (q *volumeQueue) add(job func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
	if !q.running {
		q.running = true
		go q.work()
	}
}

func (q *volumeQueue) work() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.running = false
			q.mu.Unlock()
			return
		}
		job := q.jobs[0]
		q.jobs = q.jobs[1:]
		q.mu.Unlock()
		job()
	}
}

// onVolume lets the queue do something, behind everything that was asked for before, and tells the loop how it ended.
// Without a queue it is done at once.
func (a *agent) onVolume(job func() error, done func(error)) {
	if a.volume == nil {
		done(job())
		return
	}
	a.volume.add(func() {
		err := job()
		a.post(func() { done(err) })
	})
}

// afterVolume returns a wait, for a worker, until the volume has everything that was asked for before: notes are written
// and read in the order in which the loop wanted them.
func (a *agent) afterVolume() (wait func()) {
	if a.volume == nil {
		return func() {}
	}
	done := make(chan struct{})
	a.volume.add(func() { close(done) })
	return func() { <-done }
}

// openVolume reads what an earlier run of the agent has left. The ports answer meanwhile, and tell of a volume that does not.
func (a *agent) openVolume() error {
	opened, began := make(chan error, 1), time.Now()
	go func() { opened <- a.initState() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-opened:
			return err
		case <-tick.C:
			a.beat.Store(time.Now().UnixNano())
			if pending := time.Since(began); pending > frozenAfter {
				r := a.reports.Get()
				r.Failure = frozenVolume(began, pending)
				a.reports.Set(r)
			}
		}
	}
}

// settle gives what is on its way to the volume a moment before the agent ends.
func (a *agent) settle() {
	done := make(chan struct{})
	wait := a.afterVolume()
	go func() { wait(); close(done) }()
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	for {
		select {
		case <-a.events: // nothing follows from it any more
		case <-done:
			return
		case <-limit.C:
			return
		}
	}
}

// record writes a change of the order book. The loop goes by what is on the disk: the book says it from the moment done is called.
func (a *agent) record(e orders.Edit, done func(error)) {
	var next orders.Content
	a.onVolume(func() (err error) {
		next, err = a.book.Write(e)
		return err
	}, func(err error) {
		if err == nil {
			a.book.Take(next)
		} else {
			a.disk.suspect()
		}
		done(err)
	})
}

// sizes are what was measured of the volume last.
type sizes struct {
	// cache is the size of the cache of write-sets, 0 when there is none; free is what the volume has left.
	cache, free int64
	at          time.Time
	// data are all files of the data directory, measured on demand.
	data   int64
	dataAt time.Time
}

// measure looks at the volume, at all files only where walk says so.
func measure(p place.Places, walk bool) sizes {
	s := sizes{at: time.Now()}
	if info, err := os.Stat(filepath.Join(p.Data, cacheFile)); err == nil {
		s.cache = info.Size() &^ (1<<20 - 1) // the file has a header beside its size
	}
	if free, ok := usage.FreeBytes(p.Volume); ok {
		s.free = int64(free)
	}
	if walk {
		s.data, s.dataAt = datadir.Size(p.Data), time.Now()
	}
	return s
}

// takeSizes keeps what was measured; a walk that was not made keeps the one before.
func (a *agent) takeSizes(s sizes) {
	if s.dataAt.IsZero() {
		s.data, s.dataAt = a.sizes.data, a.sizes.dataAt
	}
	a.sizes = s
	a.room.Store(s.free)
}

// measureSizes lets a worker measure.
func (a *agent) measureSizes(walk bool) {
	if a.volume == nil {
		a.takeSizes(measure(a.Places, walk))
		return
	}
	if a.measuring {
		return
	}
	a.measuring = true
	go func() {
		s := measure(a.Places, walk)
		a.post(func() {
			a.measuring = false
			a.takeSizes(s)
		})
	}()
}

// watchSizes measures now and then.
func (a *agent) watchSizes() {
	if time.Since(a.sizes.at) >= sizesEvery {
		a.measureSizes(false)
	}
}
