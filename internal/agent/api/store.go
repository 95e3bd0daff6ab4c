package api

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ReportStore holds the present Report. It is safe for concurrent use.
type ReportStore struct {
	mu      sync.Mutex
	report  agentapi.Report
	essence []byte
	changed chan struct{}
}

// NewReportStore returns a store that holds the first report of a run of the agent.
func NewReportStore(first agentapi.Report) *ReportStore {
	first.Generation = 1
	return &ReportStore{report: first, essence: essence(first), changed: make(chan struct{})}
}

// Continue serves the last report of an agent this one has replaced, until there is another one. Callers see one run.
func (s *ReportStore) Continue(last agentapi.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last.AgentVersion, last.AgentDigest, last.AgentArch = s.report.AgentVersion, s.report.AgentDigest, s.report.AgentArch
	last.Generation++
	s.report, s.essence = last, essence(last)
}

// Set replaces the report. Generation grows only when something has changed other than position,
// counters and times.
func (s *ReportStore) Set(r agentapi.Report) {
	e := essence(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Generation, r.Boot = s.report.Generation, s.report.Boot
	if !bytes.Equal(e, s.essence) {
		r.Generation++
		s.essence = e
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.report = r
}

// Get returns the present report. It must not be changed.
func (s *ReportStore) Get() agentapi.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// Wait returns the report as soon as its generation differs from since, or after wait.
func (s *ReportStore) Wait(ctx context.Context, since int64, wait time.Duration) agentapi.Report {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		r, changed := s.report, s.changed
		s.mu.Unlock()
		if r.Generation != since {
			return r
		}
		select {
		case <-changed:
		case <-timeout.C:
			return s.Get()
		case <-ctx.Done():
			return s.Get()
		}
	}
}

// essence is the report without what may change without being news.
func essence(r agentapi.Report) []byte {
	r.Generation = 0
	if r.Backup != nil {
		b := *r.Backup
		b.Bytes = 0
		r.Backup = &b
	}
	if r.Server != nil && (r.Server.Component == galera.ComponentPrimary || r.Join != nil && r.Join.EndedAt == nil) {
		// The position of a running Primary moves all the time, and that of one who catches up: its progress is
		// reported now and then. Any other's is a change.
		r.Position = galera.Position{UUID: r.Position.UUID}
	}
	if r.Server != nil {
		server := *r.Server
		server.ReceiveQueue = 0
		r.Server = &server
	}
	r.DataBytes, r.Volume = 0, nil
	if r.AtRest != nil {
		seen := *r.AtRest
		seen.SampledAt = time.Time{}
		r.AtRest = &seen
	}
	if r.StarvedFor > 0 {
		r.StarvedFor = 1 // that it was starved is news, not for how long
	}
	if r.Cache != nil {
		cache := *r.Cache
		cache.Oldest = 0
		r.Cache = &cache
	}
	if r.Failure != nil {
		failure := *r.Failure
		failure.At = time.Time{}
		r.Failure = &failure
	}
	r.TLS.Channels, r.TLS.Peers = timeless(r.TLS.Channels), timeless(r.TLS.Peers)
	data, err := json.Marshal(r)
	if err != nil {
		return nil // cannot happen: the type has nothing json cannot write
	}
	return data
}

func timeless(facts map[string]agentapi.ChannelFact) map[string]agentapi.ChannelFact {
	out := make(map[string]agentapi.ChannelFact, len(facts))
	for name, f := range facts {
		f.CheckedAt = time.Time{}
		out[name] = f
	}
	return out
}
