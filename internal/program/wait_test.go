package program

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// network answers from a moment on.
type network struct{ from time.Time }

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	if time.Now().Before(n.from) {
		return nil, errors.New("no route to host")
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)),
	}, nil
}

func TestWaitForAPI(t *testing.T) {
	for _, test := range []struct {
		name        string
		away, until time.Duration
		fails       bool
	}{
		{"it is there", 0, 0, false},
		{"it comes", 100 * time.Second, 101 * time.Second, false},
		{"it stays away", time.Hour, apiStartTimeout + apiRetryInterval, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := waitForAPI(t.Context(), &rest.Config{Host: "https://api", QPS: -1, Transport: network{start.Add(test.away)}})
				if (err != nil) != test.fails || test.fails && !strings.Contains(err.Error(), "no route to host") {
					t.Errorf("returned %v", err)
				}
				if took := time.Since(start); took > test.until || took < min(test.away, apiStartTimeout) {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
