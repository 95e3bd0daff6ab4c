package join

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	rateFile = "writerate.json"
	// rateInterval is the least time between two readings of how much was written, keepRate between two
	// writes of the estimate to the volume.
	rateInterval = 10 * time.Second
	keepRate     = 5 * time.Minute
)

// GCache is what the member knows of the rate of writes, and of its gcache. Not safe for concurrent use; event loop
// only.
type GCache struct {
	places platform.Places
	volume *datadir.Volume
	logger *slog.Logger

	estimate WriteRate
	bytes    int64 // written by the server at the last reading
	readAt   time.Time
	keptAt   time.Time
	window   time.Duration // as reported last
	oldest   int64
}

// NewGCache returns the Cache of a member whose rate of writes is unknown.
func NewGCache(places platform.Places, volume *datadir.Volume, logger *slog.Logger) GCache {
	return GCache{places: places, volume: volume, logger: logger}
}

// Open takes up the estimate an earlier run of the agent has kept. Without it, the estimate begins anew. It blocks
// while the volume does not answer.
func (c *GCache) Open() {
	data, err := os.ReadFile(filepath.Join(c.places.State, rateFile))
	if err == nil && json.Unmarshal(data, &c.estimate) != nil {
		c.estimate = WriteRate{}
	}
}

func (c *GCache) keep(now time.Time) {
	c.keptAt = now
	data, err := json.Marshal(c.estimate)
	if err != nil {
		return // cannot happen: the type has nothing json cannot write
	}
	path := filepath.Join(c.places.State, rateFile)
	c.volume.Do(func() error { return datadir.WriteFile(path, data, 0o600) }, func(err error) {
		if err != nil {
			c.logger.Warn("the rate of writes could not be kept", "error", err)
		}
	})
}

// Status takes one reading of the server's counters. Every write passes every member once: as its own, or as received.
func (c *GCache) Status(s wsrep.Status, now time.Time) {
	c.oldest = s.CachedFrom
	total := s.Written
	switch span := now.Sub(c.readAt); {
	case c.readAt.IsZero() || total < c.bytes:
		c.bytes, c.readAt = total, now // another run of the server
	case span >= rateInterval:
		c.estimate = c.estimate.Add(total-c.bytes, span, now)
		c.bytes, c.readAt = total, now
		c.window = gcacheWindow(c.estimate, c.volume.Sizes().Cache, c.window)
	}
	if now.Sub(c.keptAt) >= keepRate && !c.estimate.At.IsZero() {
		c.keep(now)
	}
}

// Exited notes that the server has ended: the next one counts from 0.
func (c *GCache) Exited() { c.readAt = time.Time{} }

// Report adds what the gcache of a running server holds, once its size is known.
func (c *GCache) Report(r *agentapi.Report) {
	size := c.volume.Sizes().Cache
	if size == 0 {
		return
	}
	r.Cache = &agentapi.Cache{Size: size, Oldest: c.oldest, WindowSeconds: int64(c.window / time.Second)}
}

// GCacheRequest is what the configuration and the join require of the gcache mariadbd is started with.
type GCacheRequest struct {
	// Options are the configured wsrep_provider_options.
	Options string
	// Window is how long the gcache is to last, Budget the most it may take in bytes.
	Window time.Duration
	Budget int64
	// Replaced reports whether a full copy is to come, of Copied bytes; 0 when that is not known.
	Replaced bool
	Copied   int64
}

// Args make mariadbd start with a gcache for the wanted window. The size is not part of the configuration, so that it
// never is a reason for a restart. A worker calls what is returned: the size depends on what the volume has left.
func (c *GCache) Args(w GCacheRequest) func() []string {
	if w.Options == "" || w.Window <= 0 {
		return func() []string { return nil }
	}
	estimate, places, logger := c.estimate, c.places, c.logger
	return func() []string {
		s := datadir.MeasureVolume(places, w.Replaced)
		size := gcacheSize(estimate, w.Window, w.Budget, s.Cache)
		if size > max(s.Cache, MinSize) {
			size = min(size, max(s.Cache+w.maxGrowth(s), MinSize))
		}
		if size <= MinSize {
			return nil
		}
		logger.Info("cache of write-sets", "bytes", size, "before", s.Cache, "bytesPerSecond", int64(estimate.High))
		return []string{"--wsrep-provider-options=" + config.WithCache(w.Options, size)}
	}
}

// maxGrowth returns what the gcache may grow by: half of what the volume has left, in addition to a full copy that is
// to come. A copy of unknown size gets all of it.
func (w GCacheRequest) maxGrowth(s datadir.Sizes) int64 {
	space := s.Free
	if w.Replaced {
		if w.Copied == 0 {
			return 0
		}
		// What lies here is removed before the new data come.
		space += s.Data - w.Copied
	}
	return max(space, 0) / 2
}
