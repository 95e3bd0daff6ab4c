package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestRequestTimes: a question that waits for news measures the agent only when there were none.
func TestRequestTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		took, wait time.Duration
		err        error
		series     int
	}{
		"answered at once":      {time.Millisecond, 0, nil, 1},
		"no news":               {10*time.Second + time.Millisecond, 10 * time.Second, nil, 1},
		"news":                  {3 * time.Second, 10 * time.Second, nil, 0},
		"refused":               {time.Millisecond, 10 * time.Second, errors.New("refused"), 1},
		"the pod is not wanted": {time.Millisecond, 10 * time.Second, context.Canceled, 0},
	} {
		r := newRequests()
		r.end("status", time.Now().Add(-tc.took), tc.wait, tc.err)
		if n := testutil.CollectAndCount(r); n != tc.series {
			t.Errorf("%s: %d series", name, n)
		}
		if problems, err := testutil.CollectAndLint(r); err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
	}
}
