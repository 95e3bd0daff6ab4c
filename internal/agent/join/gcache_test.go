package join

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestCacheLeavesSpaceForTheCopy: a copy that fits with the smallest cache is not begun with a cache that leaves no
// space for it.
func TestCacheLeavesSpaceForTheCopy(t *testing.T) {
	const gib = 1 << 30
	dir := t.TempDir()
	places := platform.Places{Volume: dir, Data: dir}
	cache := NewGCache(places, &datadir.Volume{}, slog.New(slog.DiscardHandler))
	cache.estimate.High = 1 << 40
	free := datadir.MeasureVolume(places, false).Free
	if free < 4*gib {
		t.Skip("too little space here")
	}
	for name, c := range map[string]struct {
		replaced bool
		copied   int64
		// least and most of what is free the cache may take, in percent.
		least, most int64
	}{
		"a copy of nearly all":      {true, free - gib/4, 0, 10},
		"a copy of the half":        {true, free / 2, 20, 30},
		"instead of half a copy":    {true, free / 2, 20, 30},
		"a copy that does not fit":  {true, 2 * free, 0, 1},
		"a copy of an unknown size": {true, 0, 0, 1},
		"what was missed":           {false, free / 2, 40, 60},
	} {
		t.Run(name, func(t *testing.T) {
			size := int64(MinSize)
			desired := GCacheRequest{Options: "x=1", Window: time.Hour, Budget: 1 << 50, Replaced: c.replaced, Copied: c.copied}
			for _, arg := range cache.Args(desired)() {
				_, text, _ := strings.Cut(arg, "gcache.size=")
				n, err := strconv.ParseInt(strings.TrimSuffix(text, "M"), 10, 64)
				if err != nil {
					t.Fatal(arg)
				}
				size = n << 20
			}
			if percent := size * 100 / free; percent < c.least || percent > c.most {
				t.Errorf("%d %% of what is free", percent)
			}
		})
	}
}
