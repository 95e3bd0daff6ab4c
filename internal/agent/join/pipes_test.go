package join

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCopyKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := strings.Repeat("0123456789", 1<<17) // 1.25 MiB
		for _, rate := range []int64{64 << 10, 1 << 20, 100 << 20} {
			var out bytes.Buffer
			began := time.Now()
			if err := CopyThrottled(&out, strings.NewReader(data), rate); err != nil || out.String() != data {
				t.Fatalf("%d: %v, %d bytes of %d", rate, err, out.Len(), len(data))
			}
			took, want := time.Since(began).Seconds(), float64(len(data))/float64(rate)
			if took < want*0.85 || took > want*1.15+0.1 {
				t.Errorf("%d bytes at %d per second took %.2f s, want %.2f", len(data), rate, took, want)
			}
		}
	})
}

// TestNoSavings: a pause of the source earns no burst.
func TestNoSavings(t *testing.T) {
	b := bucket{rate: 1000, last: time.Unix(0, 0)}
	if pause := b.take(600, time.Unix(3600, 0)); pause < 450*time.Millisecond {
		t.Errorf("600 bytes at 1000 per second, after an hour of nothing, go at once (%s)", pause)
	}
}

func TestCopyPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	if err := CopyThrottled(io.Discard, io.MultiReader(strings.NewReader("x"), failing{broken}), 1<<30); !errors.Is(err,
		broken) {
		t.Errorf("reading: %v", err)
	}
	if err := CopyThrottled(failing{broken}, strings.NewReader("x"), 1<<30); !errors.Is(err, broken) {
		t.Errorf("writing: %v", err)
	}
	if CopyThrottled(io.Discard, strings.NewReader("x"), 0) == nil {
		t.Error("a rate of nothing is taken")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }
