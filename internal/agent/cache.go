package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/writerate"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	writeRateFile = "writerate.json"
	cacheFile     = "galera.cache"
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
	if err == nil {
		err = datadir.WriteFile(filepath.Join(a.Places.State, writeRateFile), data, 0o600)
	}
	if err != nil {
		a.Logger.Warn("the rate of writes could not be kept", "error", err)
	}
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
		w.window = writerate.Window(w.estimate, a.cacheSize(), w.window)
	}
	if now.Sub(w.keptAt) >= keepRate && !w.estimate.At.IsZero() {
		a.keepWriteRate(now)
	}
}

// cacheSize is the size of the cache on the disk, 0 when there is none.
func (a *agent) cacheSize() int64 {
	info, err := os.Stat(filepath.Join(a.Places.Data, cacheFile))
	if err != nil {
		return 0
	}
	return info.Size() &^ (1<<20 - 1) // the file has a header beside its size
}

// cacheArgs make mariadbd start with a cache for the wanted window. The size is not part of the
// configuration, so that it never is a reason for a restart.
func (a *agent) cacheArgs(output servercnf.Output) []string {
	st := a.config.StateTransfer
	options, ok := output.MyCnf.Get("mysqld", "wsrep_provider_options")
	if !ok || st.WindowSeconds <= 0 {
		return nil
	}
	present := a.cacheSize()
	size := writerate.Size(a.writes.estimate, time.Duration(st.WindowSeconds)*time.Second, st.CacheBudget, present)
	if size > max(present, writerate.Least) {
		size = min(size, max(present+a.cacheRoom(), writerate.Least))
	}
	if size <= writerate.Least {
		return nil
	}
	a.Logger.Info("cache of write-sets", "bytes", size, "before", present, "bytesPerSecond", int64(a.writes.estimate.High))
	return []string{"--wsrep-provider-options=" + options + ";gcache.size=" + strconv.FormatInt(size>>20, 10) + "M"}
}

// cacheRoom is what the cache may grow by: half of what the volume has left, beside a full copy that is to come. A copy of unknown
// size gets all of it.
func (a *agent) cacheRoom() int64 {
	room := a.freeRoom()
	if a.found.replaced() {
		copied := a.copySize()
		if copied == 0 {
			return 0
		}
		// What lies here is removed before the new data come.
		room += datadir.Size(a.Places.Data) - copied
	}
	return max(room, 0) / 2
}

// freeRoom is what the volume has left.
func (a *agent) freeRoom() int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(a.Places.Volume, &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}

// cacheReport tells what the cache holds, nil while no server runs.
func (a *agent) cacheReport() *agentapi.Cache {
	size := a.cacheSize()
	if a.status == nil || size == 0 {
		return nil
	}
	return &agentapi.Cache{Size: size, Oldest: a.writes.oldest, WindowSeconds: int64(a.writes.window / time.Second)}
}
