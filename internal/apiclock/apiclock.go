// Package apiclock reads the API server's clock from its answers: the one of the operator's host may be wrong.
package apiclock

import (
	"net/http"
	"sync"
	"time"
)

// Clock is the API server's.
type Clock struct {
	mu    sync.Mutex
	known bool
	ahead time.Duration // of the own clock
}

// Wrap has the clock read the answers to requests.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		asked := time.Now()
		resp, err := next.RoundTrip(r)
		if err == nil {
			c.note(resp.Header.Get("Date"), asked, time.Now())
		}
		return resp, err
	})
}

type tripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// note takes the time of an answer, which has whole seconds: the clock showed it, or up to a second more, between the
// request and the answer.
func (c *Clock) note(date string, asked, answered time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return // an answer without it
	}
	ahead := max(0, at.Sub(answered.Round(0)))
	if late := at.Add(time.Second).Sub(asked.Round(0)); late < 0 {
		ahead = late
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.ahead = true, ahead
}

// Now returns the time by the API server's clock; ok reports whether it is known.
func (c *Clock) Now() (now time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead), c.known
}

// Earlier returns the time by the own clock, or by the API server's if that one is behind.
func (c *Clock) Earlier() time.Time {
	own := time.Now()
	if at, ok := c.Now(); ok && at.Before(own) {
		return at
	}
	return own
}

// Later returns the time by the own clock, or by the API server's if that one is ahead.
func (c *Clock) Later() time.Time {
	own := time.Now()
	if at, ok := c.Now(); ok && at.After(own) {
		return at
	}
	return own
}
