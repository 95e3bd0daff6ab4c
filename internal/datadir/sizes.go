package datadir

import (
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/platform"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// WalkTTL is how long the size of all files is good for.
const WalkTTL = 10 * time.Second

// gcacheFile is Galera's cache of write-sets.
const gcacheFile = "galera.cache"

// Sizes are in bytes.
type Sizes struct {
	// Cache is the size of the gcache, 0 without one; Free is what the volume has left, Total what it holds in all.
	Cache, Free, Total int64
	// At is when they were measured.
	At time.Time
	// Data are all files of the data directory, measured on demand, at DataAt.
	Data   int64
	DataAt time.Time
}

// MeasureVolume measures the volume, all files only when walk is set. It blocks while the volume does not answer.
func MeasureVolume(p platform.Places, walk bool) Sizes {
	s := Sizes{At: time.Now()}
	if info, err := os.Stat(filepath.Join(p.Data, gcacheFile)); err == nil {
		s.Cache = info.Size() &^ (1<<20 - 1) // the file has a header in addition to its size
	}
	if free, total, ok := usage.Space(p.Volume); ok {
		s.Free, s.Total = int64(free), int64(total)
	}
	if walk {
		s.Data, s.DataAt = Size(p.Data), time.Now()
	}
	return s
}
