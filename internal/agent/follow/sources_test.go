package follow

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestLink: a channel has no connection from its first attempt, or the end of one, until something was received or it
// has lasted. What is connected is not given up.
func TestLink(t *testing.T) {
	at := func(received string, connected bool) *agentapi.ChannelState {
		return &agentapi.ChannelState{Connected: connected, Received: received}
	}
	type reading struct {
		at      int // seconds
		channel *agentapi.ChannelState
	}
	for name, tc := range map[string]struct {
		opens bool
		of    []reading
		want  int
	}{
		"it is not opened": {want: 0},
		"it is opened":     {opens: true, want: 40},
		"it connects":      {opens: true, of: []reading{{5, at("0-1-7", true)}}, want: 0},
		"it receives": {opens: true, of: []reading{{5, at("0-1-7", true)}, {8, at("0-1-8", true)},
			{30, nil}}, want: 10},
		"it lasts": {opens: true, of: []reading{{5, at("0-1-7", true)}, {15, at("0-1-7", true)},
			{30, nil}}, want: 10},
		"it does not last": {opens: true, of: []reading{{5, at("0-1-7", true)}, {14, at("0-1-7", true)},
			{17, nil}}, want: 40},
		"it breaks again and again": {opens: true, of: []reading{{5, at("0-1-7", true)}, {9, at("", false)},
			{12, at("0-1-7", true)}, {18, at("0-1-7", false)}}, want: 40},
		"it ran, and breaks": {of: []reading{{10, at("0-1-7", true)}, {25, at("0-1-7", false)}}, want: 15},
	} {
		var l link
		began := time.Now()
		if tc.opens {
			l.opening(began)
		}
		for _, r := range tc.of {
			l.see(r.channel, began.Add(time.Duration(r.at)*time.Second))
		}
		l.opening(began.Add(40 * time.Second))
		if got := int(l.since(began.Add(40 * time.Second)).Seconds()); got != tc.want {
			t.Errorf("%s: %d seconds, want %d", name, got, tc.want)
		}
	}
}

// TestRefusedSources: what keeps the channel from each source stands in the report, in their order, until it has a
// connection. An error that is none of the source is not taken.
func TestRefusedSources(t *testing.T) {
	a, b := agentapi.Endpoint{Host: "a", Port: 3306}, agentapi.Endpoint{Host: "b", Port: 3306}
	of := agentapi.Follow{Host: "a", Port: 3306, Alternatives: []agentapi.Endpoint{b}}
	var s sources
	if s.refuses(a, errors.New("reading the credentials")) || s.report(of) != "" {
		t.Errorf("an error of the credentials: %q", s.report(of))
	}
	for _, e := range []agentapi.Endpoint{b, a} {
		if !s.refuses(e, fmt.Errorf("again: %w", wsrep.SourceError{Err: errors.New("no " + e.Host)})) {
			t.Errorf("%s is not refused", e)
		}
	}
	if got := s.report(of); got != "a:3306: no a. b:3306: no b" {
		t.Errorf("%q", got)
	}
	now := time.Now()
	s.opening(now)
	if s.see(&agentapi.ChannelState{Connected: true, Received: "0-1-7"}, now); s.report(of) == "" {
		t.Error("forgotten as soon as it connects")
	}
	if s.see(&agentapi.ChannelState{Connected: true, Received: "0-1-8"}, now); s.report(of) != "" {
		t.Errorf("it goes on: %q", s.report(of))
	}
}
