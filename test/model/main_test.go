package model

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

// total counts the steps of all tests.
var total atomic.Int64

// full is how long a full run lasts, from SIM_DURATION; 0 for the fast run.
func full() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("SIM_DURATION"))
	return d
}

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // little is kept, and much thrown away
	began := time.Now()
	code := m.Run()
	took := time.Since(began)
	fmt.Printf("model: %d steps, the promises checked after each, in %s (%.0f steps/s)\n",
		total.Load(), took.Round(time.Millisecond), float64(total.Load())/took.Seconds())
	os.Exit(code)
}
