package config

import (
	"context"
	"fmt"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// sessions are those of clients over the network that began before the server required TLS. A server asks for it at a
// login only, and does not report which other session has it; those that began later have it.
type sessions struct {
	// Before is larger than their ids, 0 while that is not known.
	Before int64 `json:"before,omitempty"`
	// Left is how many there were at the last count, nil while that is not known. There are none of a server that was
	// started with the requirement.
	Left *int `json:"left,omitempty"`

	problem string // of the last count
}

// atStart are the sessions of a server that is started with a policy.
func atStart(clients galera.ChannelPolicy) sessions {
	if clients == galera.PolicyRequired {
		return sessions{Left: new(int)}
	}
	return sessions{}
}

// none reports whether none is left. None can appear, then, while TLS is required.
func (s sessions) none() bool { return s.Left != nil && *s.Left == 0 }

// endSessions ends those that are between two transactions, on a server that requires TLS.
func endSessions(r *Manager) {
	if r.run.Clients != galera.PolicyRequired || r.run.sessions.none() {
		return
	}
	r.live.busy = true
	pid, found := r.run.pid, r.run.sessions
	go func() {
		left := found.end(context.Background(), r.server)
		r.loop.Post(func() {
			r.live.busy = false
			if r.run.pid != pid {
				return
			}
			r.run.sessions = left
			if left.none() {
				r.loop.Logger.Info("no client session from before TLS was required is left")
			}
		})
	}()
}

// end ends those that are between two transactions, and returns what was seen.
func (s sessions) end(ctx context.Context, server Server) sessions {
	s.Left, s.problem = nil, ""
	var err error
	if s.Before == 0 {
		s.Before, err = server.FirstEncrypted(ctx)
	}
	var left int
	if err == nil {
		left, err = server.EndBefore(ctx, s.Before)
	}
	if err != nil {
		s.problem = ": " + err.Error()
		return s
	}
	s.Left = &left
	return s
}

// ReportSessions withholds that port 3306 refuses plaintext while sessions may go on that began before it did.
func (r Run) ReportSessions(to *agentapi.Report) {
	if f, known := to.TLS.Channels[agentapi.ChannelClients]; known {
		to.TLS.Channels[agentapi.ChannelClients] = r.sessions.judge(f)
	}
}

// judge puts together what the dials of port 3306 showed and which sessions are left.
func (s sessions) judge(f agentapi.ChannelFact) agentapi.ChannelFact {
	if !f.PlaintextRefused || s.none() {
		return f
	}
	f.PlaintextRefused = false
	if f.Problem != "" {
		f.Problem += "; "
	}
	if s.Left == nil {
		f.Problem += "the client sessions that began before TLS was required were not counted" + s.problem
		return f
	}
	f.PlaintextSessions = *s.Left
	f.Problem += fmt.Sprintf("client sessions that began before TLS was required, and may be without it, are still open "+
		"(%d): each is ended between two of its transactions; end those yourself that you cannot wait for", *s.Left)
	return f
}
