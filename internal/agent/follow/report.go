package follow

import (
	"cmp"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Report adds how far the member is.
func (r *Follower) Report(to *agentapi.Report) {
	to.Channel = r.gate.Reported(time.Now())
	to.Refuses = r.superseded() && r.read != nil && r.read.ReadOnly
	to.Closed = r.closing.end(r.switching(), r.read)
	to.Lease = leaseReport(r)
	source, _ := r.Wanted()
	if source != nil {
		to.ChannelUntil, to.ChannelFenced = source.Until, r.fenced(source.Until, time.Now())
	}
	if source == nil {
		return
	}
	to.ChannelSource = r.sources.name()
	to.ChannelEnds = r.trials.ends(r.Run.Proc != nil)
	if r.read == nil {
		return
	}
	out := *r.read
	if out.Channel != nil && r.outage.state != nil {
		out.Channel = r.outage.state
	}
	out.Reached, out.Waiting = r.reached(source), cmp.Or(r.closed, r.gate.Waiting())
	if refused := r.sources.report(*source); refused != "" {
		out.Waiting = refused
	}
	if r.failed != "" {
		out.Waiting = r.failed
	}
	if wait, ends := r.pause(time.Now()); wait > 0 {
		out.Waiting = fmt.Sprintf("the channel has ended servers %s at %s, and is not opened for up to %s",
			galera.Count(ends, "time"), r.read.Applied, lifecycle.ChannelPause(ends))
	}
	if end, stop := lifecycle.ChannelEnd(*source, time.Now()); source.Until == "" && (stop || r.includes(end)) &&
		r.gate.Reported(time.Now()) == agentapi.TaskOff {
		out.Held = source.Held()
	}
	to.Following = &out
}

// Busy implements handover.Part.
func (r *Follower) Busy() string {
	if r.gate.Busy() || r.setting {
		return "the channel of the source is being started or stopped"
	}
	return ""
}
