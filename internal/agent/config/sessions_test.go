package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// served is a server with clients, each between two transactions or in one, and a Manager of it.
type served struct {
	*testing.T
	*Manager
	queue *eventloop.Queue

	required bool
	last     int64 // id of a connection
	clients  map[int64]bool
	// unset is why a setting that follows require_secure_transport cannot be set, silent why nothing can be counted.
	unset, silent error
}

func (s *served) SetGlobal(_ context.Context, options []mycnf.Option) error {
	for _, o := range options {
		if o.Key == "require_secure_transport" {
			s.required = o.Value == "ON"
		}
	}
	return s.unset
}

func (s *served) FirstEncrypted(context.Context) (int64, error) {
	if !s.required {
		return 0, errors.New("require_secure_transport is OFF")
	}
	if s.silent != nil {
		return 0, s.silent
	}
	s.last++
	return s.last, nil
}

func (s *served) EndBefore(_ context.Context, limit int64) (count int, err error) {
	for id, idle := range s.clients {
		if id < limit {
			count++
			if idle {
				delete(s.clients, id)
			}
		}
	}
	return count, nil
}

// publish gives the Manager a policy for clients.
func (s *served) publish(clients galera.ChannelPolicy) {
	s.Node = &agentapi.NodeConfig{TLS: agentapi.TLSConfig{Replication: galera.SocketPlain, Clients: clients}}
	s.Output = Build(Input{Config: *s.Node, Name: "shop-0", Address: "10.0.0.1"})
}

// manage makes a Manager, of a new agent.
func (s *served) manage() {
	queue, loop := agenttest.Loop()
	m := NewManager(loop, platform.Places{}, Member{Name: "shop-0"}, &mariadbd.Image{}, &platform.ProcessTable{}, s,
		Events{Applied: func() {}})
	s.Manager, s.queue = &m, queue
}

// succeed replaces the agent; one of an earlier version has saved less.
func (s *served) succeed(earlier bool) {
	s.Helper()
	clients := s.Node.TLS.Clients
	state, _, err := s.Save()
	if err != nil {
		s.Fatal(err)
	}
	of := state.(saved)
	if earlier {
		of.Sessions = sessions{}
	}
	data, err := json.Marshal(of)
	if err != nil {
		s.Fatal(err)
	}
	s.manage()
	if err := s.Load(data); err != nil {
		s.Fatal(err)
	}
	s.publish(clients)
}

func (s *served) do(step string) {
	s.Helper()
	switch step {
	case "Required", "Preferred":
		s.publish(galera.ChannelPolicy(step))
	case "idle", "busy":
		s.last++
		s.clients[s.last] = step == "idle"
	case "commit":
		for id := range s.clients {
			s.clients[id] = true
		}
	case "restart", "restart, and a client at once":
		clear(s.clients)
		s.required = s.Node.TLS.Clients == galera.PolicyRequired
		s.Started(s.run.pid+1, s.ForStart())
		if step != "restart" {
			s.last++
			s.clients[s.last] = true
		}
	case "successor", "successor of an earlier version":
		s.succeed(step != "successor")
	case "partly":
		s.unset = errors.New("unknown variable")
	case "wholly":
		s.unset = nil
	case "silent":
		s.silent = errors.New("no answer")
	default:
		s.Fatal(step)
	}
	for range 4 {
		if s.SetLive(); s.live.busy {
			agenttest.Next(s.T, s.queue)
		}
	}
}

// reported is what becomes of the evidence that a login without TLS is refused.
func (s *served) reported() string {
	r := agentapi.Report{TLS: agentapi.TLSReport{Channels: map[string]agentapi.ChannelFact{
		agentapi.ChannelClients: {Observed: agentapi.ObservedTLS, PlaintextRefused: true}}}}
	s.Running().ReportSessions(&r)
	switch f := r.TLS.Channels[agentapi.ChannelClients]; {
	case f.PlaintextRefused && f.Problem == "":
		return "refused"
	case f.PlaintextRefused || f.Problem == "":
		return fmt.Sprintf("%+v", f)
	case f.PlaintextSessions > 0:
		return fmt.Sprintf("%d left", f.PlaintextSessions)
	default:
		return f.Problem[strings.LastIndex(f.Problem, ": ")+2:]
	}
}

// TestSessionsFromBeforeTLS: that plaintext is refused is reported once no session is left that may be in clear.
// Unknown is never none.
func TestSessionsFromBeforeTLS(t *testing.T) {
	for name, c := range map[string]struct {
		start galera.ChannelPolicy
		steps []string
		want  string
		left  int // clients, of the server
	}{
		"started so":                 {galera.PolicyRequired, []string{"idle"}, "refused", 1},
		"between two transactions":   {galera.PolicyPreferred, []string{"idle", "Required"}, "refused", 0},
		"in a transaction":           {galera.PolicyPreferred, []string{"idle", "busy", "Required"}, "1 left", 1},
		"after it":                   {galera.PolicyPreferred, []string{"busy", "Required", "commit"}, "refused", 0},
		"opened with TLS":            {galera.PolicyPreferred, []string{"Required", "idle", "busy"}, "refused", 2},
		"on a server started anew":   {galera.PolicyPreferred, []string{"busy", "Required", "restart"}, "refused", 0},
		"on one with a client since": {galera.PolicyRequired, []string{"restart, and a client at once"}, "refused", 1},
		"on one that was started so": {galera.PolicyRequired, []string{"Preferred", "busy", "Required"}, "1 left", 1},
		"allowed twice": {galera.PolicyPreferred, []string{"busy", "Required", "commit", "Preferred", "busy", "Required"},
			"1 left", 1},
		"while other settings cannot be set": {galera.PolicyRequired, []string{"partly", "Preferred", "busy", "Required",
			"wholly"}, "1 left", 1},
		"counted by a successor": {galera.PolicyPreferred, []string{"busy", "Required", "idle", "successor"}, "1 left", 2},
		"none for a successor":   {galera.PolicyPreferred, []string{"Required", "idle", "successor"}, "refused", 1},
		"unknown to a successor": {galera.PolicyPreferred, []string{"Required", "idle", "busy",
			"successor of an earlier version"}, "1 left", 1},
		"not to be counted": {galera.PolicyPreferred, []string{"silent", "idle", "Required"}, "no answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &served{T: t, clients: map[int64]bool{}}
			s.manage()
			s.publish(c.start)
			s.do("restart")
			for _, step := range c.steps {
				s.do(step)
			}
			if got := s.reported(); got != c.want || len(s.clients) != c.left {
				t.Errorf("%s, and %d clients", got, len(s.clients))
			}
		})
	}
}

// TestSessionsAreReportedAlongside what else is wrong with the channel, and nothing is made of other evidence.
func TestSessionsAreReportedAlongside(t *testing.T) {
	three := 3
	for name, f := range map[string]agentapi.ChannelFact{
		"unverified": {Observed: agentapi.ObservedTLS, PlaintextRefused: true, Problem: "unknown authority"},
		"not tried":  {Observed: agentapi.ObservedTLS, Problem: "unknown authority"},
		"accepted":   {Observed: agentapi.ObservedMixed, Problem: "unknown authority"},
	} {
		got := sessions{Before: 9, Left: &three}.judge(f)
		if f.PlaintextRefused != (got.PlaintextSessions == 3) || got.PlaintextRefused || got.Observed != f.Observed ||
			!strings.HasPrefix(got.Problem, "unknown authority") ||
			f.PlaintextRefused != strings.Contains(got.Problem, "; client sessions") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
