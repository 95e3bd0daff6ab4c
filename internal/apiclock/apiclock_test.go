package apiclock

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: the API server's clock is known by its answers, to a second, however long they take.
func TestClock(t *testing.T) {
	const h = time.Hour
	for name, c := range map[string]struct {
		ahead, before, after time.Duration // the clock, and how long a request and its answer take
		date                 bool
		fails                error
		now, earlier         time.Duration
		known                bool
	}{
		"the same":          {0, 0, 0, true, nil, 0, 0, true},
		"within the second": {-900 * time.Millisecond, 0, 0, true, nil, 0, 0, true},
		"ahead":             {h, 0, 0, true, nil, h, 0, true},
		"behind":            {-h, 0, 0, true, nil, time.Second - h, time.Second - h, true},
		"a slow answer":     {0, 0, 9 * time.Second, true, nil, 0, 0, true},
		"a slow request":    {0, 9 * time.Second, 0, true, nil, 0, 0, true},
		"no date":           {h, 0, 0, false, nil, 0, 0, false},
		"no answer":         {h, 0, 0, true, errors.New("reset"), 0, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := &Clock{}
			client := http.Client{Transport: clock.Wrap(tripper(func(*http.Request) (*http.Response, error) {
				time.Sleep(c.before)
				resp := &http.Response{Header: http.Header{}, Body: http.NoBody}
				if c.date {
					resp.Header.Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
				}
				time.Sleep(c.after)
				return resp, c.fails
			}))}
			if resp, err := client.Get("http://api/"); err == nil {
				_ = resp.Body.Close()
			}
			now, known := clock.Now()
			if got := time.Until(now); known != c.known || got != c.now {
				t.Errorf("%s: it is ahead by %s, known: %v", name, got, known)
			}
			if got := time.Until(clock.Earlier()); got != c.earlier {
				t.Errorf("%s: the earlier one is ahead by %s", name, got)
			}
			if got := time.Until(clock.Later()); got != c.now-c.earlier {
				t.Errorf("%s: the later one is ahead by %s", name, got)
			}
		})
	}
}
