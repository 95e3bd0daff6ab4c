package agentapi

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Clocks of hosts differ, and the times in a report are of its agent's clock. What is decided by an age is therefore
// sent as an age, too, measured by the clock that took the time.

// maxAge is more than any age that matters, and less than what a Duration can hold.
const maxAge = 100 * 365 * 24 * time.Hour

// Sent returns the report with the ages of its contents, as of now. It shares nothing with r that it changes.
func (r Report) Sent(now time.Time) Report {
	r.TLS.Channels = each(r.TLS.Channels, func(f *ChannelFact) { f.AgeSeconds = age(f.CheckedAt, now) })
	r.TLS.Peers = each(r.TLS.Peers, func(f *ChannelFact) { f.AgeSeconds = age(f.CheckedAt, now) })
	r.Away = slices.Clone(r.Away)
	for i := range r.Away {
		a := &r.Away[i]
		a.FromAgeSeconds, a.ToAgeSeconds = age(a.From, now), age(a.To, now)
	}
	if r.AtRest != nil {
		seen := *r.AtRest
		seen.SampleAgeSeconds, seen.FullAgeSeconds = age(seen.SampledAt, now), age(seen.FullAt, now)
		r.AtRest = &seen
	}
	if r.Join != nil {
		join := *r.Join
		join.AgeSeconds = age(join.StartedAt, now)
		r.Join = &join
	}
	return r
}

// Received returns a report that has just come in with the times that are compared with others put on the receiver's
// clock. Times for users stay as they are.
func (r Report) Received(now time.Time) Report {
	r.TLS.Channels = each(r.TLS.Channels, func(f *ChannelFact) { f.CheckedAt = ago(f.AgeSeconds, now, f.CheckedAt) })
	r.TLS.Peers = each(r.TLS.Peers, func(f *ChannelFact) { f.CheckedAt = ago(f.AgeSeconds, now, f.CheckedAt) })
	r.Away = slices.Clone(r.Away)
	for i := range r.Away {
		a := &r.Away[i]
		a.From, a.To = ago(a.FromAgeSeconds, now, a.From), ago(a.ToAgeSeconds, now, a.To)
	}
	if r.AtRest != nil {
		seen := *r.AtRest
		seen.SampledAt, seen.FullSeen = ago(seen.SampleAgeSeconds, now, seen.SampledAt), ago(seen.FullAgeSeconds, now,
			seen.FullAt)
		r.AtRest = &seen
	}
	return r.withoutForgedHistories()
}

// Sent returns the report with the ages of its proofs, as of now.
func (r ProxyReport) Sent(now time.Time) ProxyReport {
	return r.each(func(f *ChannelFact) { f.AgeSeconds = age(f.CheckedAt, now) })
}

// Received returns a report that has just come in with the times of its proofs on the receiver's clock.
func (r ProxyReport) Received(now time.Time) ProxyReport {
	return r.each(func(f *ChannelFact) { f.CheckedAt = ago(f.AgeSeconds, now, f.CheckedAt) })
}

func (r ProxyReport) each(change func(*ChannelFact)) ProxyReport {
	change(&r.Frontend)
	r.Nodes = slices.Clone(r.Nodes)
	for i := range r.Nodes {
		change(&r.Nodes[i].Backend)
	}
	return r
}

// withoutForgedHistories leaves out what is no UUID: conditions print histories in commands for users to run, and the
// holder of a cluster's pair can answer in the place of its agents.
func (r Report) withoutForgedHistories() Report {
	if r.Position.UUID != "" && uuid.Validate(r.Position.UUID) != nil {
		r.Position = galera.Position{}
	}
	if r.Server != nil && (r.Server.ClusterUUID != "" && uuid.Validate(r.Server.ClusterUUID) != nil ||
		r.Server.NodeUUID != "" && uuid.Validate(r.Server.NodeUUID) != nil) {
		r.Server = nil
	}
	return r
}

// Began is when the join was started, by the clock that received it at seen.
func (j Join) Began(seen time.Time) time.Time { return ago(j.AgeSeconds, seen, j.StartedAt) }

func each(facts map[string]ChannelFact, change func(*ChannelFact)) map[string]ChannelFact {
	facts = maps.Clone(facts)
	for name, f := range facts {
		change(&f)
		facts[name] = f
	}
	return facts
}

// age is nil for what has not happened. What lies ahead, because the clock was set back, happened just now.
func age(t, now time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	seconds := max(now.Sub(t), 0).Seconds()
	return &seconds
}

// ago is the time of an age; otherwise is what counts when none was sent.
func ago(seconds *float64, now, otherwise time.Time) time.Time {
	if seconds == nil {
		return otherwise
	}
	return now.Add(-time.Duration(math.Min(math.Max(*seconds, 0), maxAge.Seconds()) * float64(time.Second)))
}
