package sites

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// node is a server with its agent.
type node struct {
	name string
	// up reports whether the server runs, agent whether its agent does.
	up, agent bool
	config    agentapi.NodeConfig // as the agent has it of what kubelet has written
	refuses   bool                // mariadbd does not know a setting of that
	// followed and own are the last transactions that it has of the first cluster, and of its own.
	followed, own uint64
	readOnly      bool
	stuck         bool // read_only cannot be set to ON
	// The agent's: what it has made read-only itself, where it has read that the server ends, and the lease.
	mark      bool
	closed    agentapi.Closed
	sets      int
	life      int
	holder    lease.Holder
	unwanted  lease.Unwanted
	unguarded bool
	grace     time.Duration
}

// accepts reports whether clients can write to it.
func (n *node) accepts() bool { return n.up && !n.readOnly }

// setReadOnly is what the agent does: what was read before is void.
func (n *node) setReadOnly(on bool) {
	n.sets++
	n.closed = agentapi.Closed{}
	if !on || !n.stuck {
		n.readOnly = on
	}
}

// ended reports whether the lease is not renewed.
func (w *world) ended(n *node) bool { return n.config.Lease && n.holder.Ends(w.clock()) }

// guard ends a server that accepts writes beyond the lease, as the agents' Guard does.
func (w *world) guard(n *node) {
	if n.agent && n.accepts() && n.config.Lease && n.holder.Left(w.clock()) == 0 && w.clock() >= n.grace {
		w.say("the agent of %s kills its server", n.name)
		n.up = false
		w.seen["killed"]++
	}
}

// kubelet writes what was published, and starts what does not run.
func (w *world) kubelet(s *site, n *node) {
	if s.gone {
		return
	}
	w.mount(n, s.published)
	if n.up || !s.claims || n.config.Revision == "" || !n.agent && s.published.Revision == "" {
		return
	}
	if !n.agent {
		n.agent, n.life, n.holder, n.unwanted, n.grace = true, n.life+1, lease.Holder{}, lease.Unwanted{}, 0
	}
	c := n.config
	n.up, n.closed, n.followed, n.own = true, agentapi.Closed{}, s.followed, s.own
	n.readOnly = c.Follow != nil || c.Refuse || c.Lease
	n.mark, n.unguarded = n.mark || n.readOnly && c.Follow == nil, !c.Lease
}

// kill ends a node.
func (n *node) kill() { n.up, n.agent = false, false }

// agent takes an agent's next step.
func (w *world) agent(s *site, n *node) {
	if !n.up || !n.agent {
		return
	}
	c, now := n.config, w.clock()
	n.unwanted.Read(c.LeaseUnwanted, now)
	if c.Lease && n.unguarded {
		n.grace = now + lease.Closing
	}
	n.unguarded = !c.Lease
	refuse := c.Refuse || w.ended(n)
	if c.Follow != nil {
		w.follow(s, n, refuse)
		return
	}
	if !refuse && !c.Lease && !n.mark {
		return
	}
	n.mark = n.mark || refuse || c.Lease
	switch {
	case refuse && !n.readOnly:
		n.setReadOnly(true)
	case refuse:
	case n.readOnly:
		n.setReadOnly(false)
	case !c.Lease:
		n.mark = false
	}
}

// follow is agent where the cluster follows another one.
func (w *world) follow(s *site, n *node, refuse bool) {
	of := *n.config.Follow
	end, stop := lifecycle.ChannelEnd(of, w.now)
	f := lifecycle.FollowState{Until: of.Until, Applied: gtid(n.followed), ReadOnly: n.readOnly, Refuse: refuse,
		Known: true, ChannelOff: stop || lifecycle.Includes(gtid(n.followed), end)}
	for _, other := range s.nodes {
		if other != n && other.up && (other.config.Follow == nil || other.config.Follow.Until != of.Until) {
			f.Unfenced = append(f.Unfenced, other.name)
		}
	}
	switch w.next(f) {
	case lifecycle.FollowAccept:
		n.setReadOnly(false)
	case lifecycle.FollowRefuse:
		n.setReadOnly(true)
	}
}

// channel has a node apply what the source has.
func (w *world) channel(s *site, x int) {
	n := s.nodes[x%members]
	if !n.up || n.config.Follow == nil || s == w.sites[0] {
		return
	}
	for _, other := range s.nodes {
		if other.up && (other.config.Follow == nil || other.config.Follow.Until != n.config.Follow.Until) {
			return // whether its channel goes on is not known
		}
	}
	end, stop := lifecycle.ChannelEnd(*n.config.Follow, w.now)
	if stop || lifecycle.Includes(gtid(s.followed), end) {
		return
	}
	source := w.sourceEnd(s)
	if end != "" {
		at, _ := binlog.In(end, 0)
		source = min(source, at.Seq)
	}
	if source > s.followed {
		s.of = append(s.of, w.written()[s.followed:source]...)
		s.followed, s.source.sent = source, source
	}
	n.followed = s.followed
}

// catchUp has a node apply what its group has.
func (w *world) catchUp(s *site, n *node) {
	if n.up {
		n.followed, n.own = s.followed, s.own
	}
}

// write is that of a client: it is acknowledged once the group has it.
func (w *world) write(s *site, n *node) {
	if n.accepts() {
		s.own++
		n.followed, n.own = s.followed, s.own
	}
}

// read has the agent ask its server where it ends.
func (w *world) read(s *site, n *node, x int) {
	number, sets, life, end := n.config.Switching, n.sets, n.life, ""
	if !n.up || !n.agent || number == 0 {
		return
	}
	if n.readOnly && n.own == s.own {
		end = gtid(n.own)
	}
	w.later(x, func() {
		if n.closed = (agentapi.Closed{}); n.life == life && n.up && end != "" && sets == n.sets {
			n.closed = agentapi.Closed{By: number, Position: end}
		}
	})
}

// report has the operator get an agent's report.
func (w *world) report(s *site, n *node) {
	if w.cut(toNodes, s) || !n.agent {
		s.reports[n.name] = observe.Seen{Report: s.reports[n.name].Report, At: w.now}
		return
	}
	c := n.config
	r := agentapi.Report{Name: n.name, Cluster: c.Identity(), Refusal: c.Refused()}
	if n.refuses {
		r.Config = agentapi.ConfigReport{Problem: "unknown variable", Reason: agentapi.ConfigSettings}
	}
	if n.up {
		r.Server = &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: history,
			ReceiveQueue: int64(s.own + s.followed - n.own - n.followed)} //nolint:gosec // some transactions
		for _, other := range s.nodes {
			if other.up {
				r.Server.Size++
			}
		}
		r.Refuses = c.Refuse && n.readOnly
		if n.readOnly && n.closed.By == c.Switching {
			r.Closed = n.closed
		}
	}
	left := n.holder.Left(w.clock())
	l := agentapi.LeaseReport{Guarded: c.Lease, Heard: left > 0, Ended: w.ended(n),
		UnwantedHeard: n.unwanted.Heard(n.holder)}
	if l != (agentapi.LeaseReport{}) {
		r.Lease = &l
	}
	if f := c.Follow; f != nil {
		r.ChannelUntil = f.Until
		if n.up {
			r.Following = &agentapi.Following{Applied: gtid(n.followed), ReadOnly: n.readOnly,
				Reached: lifecycle.Includes(gtid(n.followed), f.Until)}
			if s.source.refused && n == s.nodes[0] {
				r.Channel = agentapi.TaskOn
				r.Following.Channel = &agentapi.ChannelState{ErrorNumber: 1236, Error: task.Refused + "it is another one"}
			}
		}
	}
	s.reports[n.name] = observe.Seen{Report: r, At: w.now, Live: true}
}

func (n *node) String() string {
	return fmt.Sprintf("%s up %v/%v read-only %v has %d+%d refuse %v switching %d lease %v follow %+v", n.name, n.up,
		n.agent, n.readOnly, n.followed, n.own, n.config.Refuse, n.config.Switching, n.config.Lease, n.config.Follow)
}
