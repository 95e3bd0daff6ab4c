package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/writerate"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	writeRateFile = "writerate.json"
	// rateEvery is the least time between two readings of how much was written, keepRate between two
	// writes of the estimate to the volume.
	rateEvery = 10 * time.Second
	keepRate  = 5 * time.Minute
)

// writes is what the member knows of the rate of writes, and of its cache of write-sets.
type writes struct {
	estimate writerate.Estimate
	bytes    float64 // counters of the server at the last reading
	readAt   time.Time
	keptAt   time.Time
	window   time.Duration // as told last
	oldest   int64
}

// readWriteRate takes up what an earlier run of the agent has kept. Without it, the estimate begins anew.
func (a *agent) readWriteRate() {
	data, err := os.ReadFile(filepath.Join(a.Places.State, writeRateFile))
	if err == nil && json.Unmarshal(data, &a.writes.estimate) != nil {
		a.writes.estimate = writerate.Estimate{}
	}
}

func (a *agent) keepWriteRate(now time.Time) {
	a.writes.keptAt = now
	data, err := json.Marshal(a.writes.estimate)
	if err != nil {
		return // cannot happen: the type has nothing json cannot write
	}
	path := filepath.Join(a.Places.State, writeRateFile)
	a.volume.Do(func() error { return datadir.WriteFile(path, data, 0o600) }, func(err error) {
		if err != nil {
			a.Logger.Warn("the rate of writes could not be kept", "error", err)
		}
	})
}

// watchWrites takes one reading of the server's counters. Every write passes every member once: as its
// own, or as received.
func (a *agent) watchWrites(s wsrep.Status, now time.Time) {
	w := &a.writes
	w.oldest = s.CachedFrom
	total := s.Counters["wsrep_replicated_bytes"] + s.Counters["wsrep_received_bytes"]
	switch span := now.Sub(w.readAt); {
	case w.readAt.IsZero() || total < w.bytes:
		w.bytes, w.readAt = total, now // another run of the server
	case span >= rateEvery:
		w.estimate = w.estimate.Add(int64(total-w.bytes), span, now)
		w.bytes, w.readAt = total, now
		w.window = writerate.Window(w.estimate, a.volume.Sizes().Cache, w.window)
	}
	if now.Sub(w.keptAt) >= keepRate && !w.estimate.At.IsZero() {
		a.keepWriteRate(now)
	}
}

// cacheWish is what decides how large a cache mariadbd is started with.
type cacheWish struct {
	options  string
	estimate writerate.Estimate
	window   time.Duration
	budget   int64
	// replaced says that a full copy is to come, of copied bytes; 0 when that is not known.
	replaced bool
	copied   int64
}

// cacheWish gathers it; ok is false when the configuration says all.
func (a *agent) cacheWish(output servercnf.Output) (w cacheWish, ok bool) {
	st := a.config.StateTransfer
	options, ok := output.MyCnf.Get("mysqld", "wsrep_provider_options")
	if !ok || st.WindowSeconds <= 0 {
		return w, false
	}
	return cacheWish{options: options, estimate: a.writes.estimate, window: time.Duration(st.WindowSeconds) * time.Second,
		budget: st.CacheBudget, replaced: a.found.replaced(), copied: a.copySize()}, true
}

// cacheArgs make mariadbd start with a cache for the wanted window. The size is not part of the
// configuration, so that it never is a reason for a restart. A worker makes them: they depend on what the volume has.
func (a *agent) cacheArgs(output servercnf.Output) func() []string {
	w, ok := a.cacheWish(output)
	if !ok {
		return func() []string { return nil }
	}
	places, logger := a.Places, a.Logger
	return func() []string {
		s := volume.Measure(places, w.replaced)
		size := writerate.Size(w.estimate, w.window, w.budget, s.Cache)
		if size > max(s.Cache, writerate.Least) {
			size = min(size, max(s.Cache+w.room(s), writerate.Least))
		}
		if size <= writerate.Least {
			return nil
		}
		logger.Info("cache of write-sets", "bytes", size, "before", s.Cache, "bytesPerSecond", int64(w.estimate.High))
		return []string{"--wsrep-provider-options=" + servercnf.WithCache(w.options, size)}
	}
}

// room is what the cache may grow by: half of what the volume has left, beside a full copy that is to come. A copy of unknown
// size gets all of it.
func (w cacheWish) room(s volume.Sizes) int64 {
	room := s.Free
	if w.replaced {
		if w.copied == 0 {
			return 0
		}
		// What lies here is removed before the new data come.
		room += s.Data - w.copied
	}
	return max(room, 0) / 2
}

// cacheReport tells what the cache holds, nil while no server runs.
func (a *agent) cacheReport() *agentapi.Cache {
	size := a.volume.Sizes().Cache
	if a.status == nil || size == 0 {
		return nil
	}
	return &agentapi.Cache{Size: size, Oldest: a.writes.oldest, WindowSeconds: int64(a.writes.window / time.Second)}
}
