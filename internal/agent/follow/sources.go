package follow

import (
	"errors"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// link is since when a channel that is to run here has no connection to its source.
type link struct {
	// lost is zero while it has one, or is not to run here; steady since when it has one again.
	lost, steady time.Time
	received     string
}

// opening is called when the channel is about to be opened.
func (l *link) opening(now time.Time) {
	if l.lost.IsZero() {
		l.lost = now
	}
}

// see takes what was read of the server. A connection counts when something was received, or it has lasted.
func (l *link) see(c *agentapi.ChannelState, now time.Time) {
	switch connected := c != nil && c.Connected; {
	case !connected:
		l.opening(now)
		l.steady = time.Time{}
	case l.lost.IsZero():
	case l.steady.IsZero():
		l.steady, l.received = now, c.Received
	case c.Received != l.received, now.Sub(l.steady) >= steadyTime:
		*l = link{}
	}
}

// since is for how long there is none.
func (l *link) since(now time.Time) time.Duration {
	if l.lost.IsZero() || !l.steady.IsZero() {
		return 0
	}
	return now.Sub(l.lost)
}

// sources are those of a cluster that has several.
type sources struct {
	// at is the one that is followed, or would be.
	at agentapi.Endpoint
	link
	// refused is why the channel was not opened with a source, since the last one had a connection.
	refused map[string]string
	moved   time.Time
}

// several reports whether there is a choice.
func several(source *agentapi.Follow) bool { return source != nil && len(source.Alternatives) > 0 }

// choose decides which source is followed, and opens a channel again that was opened with another one.
func (r *Follower) choose(now time.Time, source *agentapi.Follow) {
	s := &r.sources
	if !several(source) {
		*s = sources{}
		return
	}
	own, opens := "", r.gate.On() || !s.lost.IsZero()
	switch {
	case s.at.Host != "":
		own = s.name()
	case r.read != nil && r.read.Channel != nil:
		own = r.read.Channel.Source // an agent before has opened it
	}
	at := lifecycle.SourceFacts{Sources: source.Sources(), Own: own, Others: r.Group.Views, Opens: opens,
		Lost: s.since(now)}.Source()
	if opens && own != "" && at.String() != own {
		r.loop.Logger.Warn("the source has had no connection: the next one is tried", "source", own, "next", at.String())
		s.lost = now
	}
	s.at = at
	if r.gate.On() && r.read != nil && r.read.Channel != nil && r.read.Channel.Source != at.String() &&
		now.Sub(s.moved) >= retryInterval {
		s.moved = now
		r.gate.Again()
	}
}

// idle is called while the channel is not to run here.
func (s *sources) idle() { s.link, s.refused = link{}, nil }

// see takes what was read of the server.
func (s *sources) see(c *agentapi.ChannelState, now time.Time) {
	if s.link.see(c, now); s.lost.IsZero() {
		s.refused = nil
	}
}

// refuses keeps why the channel was not opened with a source; it returns false for an error of another kind.
func (s *sources) refuses(with agentapi.Endpoint, err error) bool {
	var refused wsrep.SourceError
	if !errors.As(err, &refused) {
		return false
	}
	if s.refused == nil {
		s.refused = map[string]string{}
	}
	s.refused[with.String()] = refused.Error()
	return true
}

// name is HOST:PORT of the source, "" where there is only one.
func (s *sources) name() string {
	if s.at.Host == "" {
		return ""
	}
	return s.at.String()
}

// report names the sources that are not followed, with the reason of each.
func (s *sources) report(of agentapi.Follow) string {
	var out []string
	for _, e := range of.Sources() {
		if why := s.refused[e.String()]; why != "" {
			out = append(out, e.String()+": "+why)
		}
	}
	return strings.Join(out, ". ")
}
