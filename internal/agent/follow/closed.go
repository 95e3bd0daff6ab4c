package follow

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// readClosed is how often a server is asked once another site is to take over, for closedTime: no client may write.
	readClosed = 500 * time.Millisecond
	// closedTime is longer than the command waits.
	closedTime = 5 * time.Minute
)

// closing is where a server ends that was read to refuse writes since another site is to take over.
type closing struct {
	closed agentapi.Closed
	sets   int       // how often read_only was set: what was read before is void
	late   time.Time // until when the server may still accept writes because of what could not be set before
	// number is that of the change of sites that was asked for last, since when it is known.
	number int64
	since  time.Time
}

// set is called before and after read_only is set. After a failure to accept writes that may happen later.
func (c *closing) set(failed bool) {
	c.closed, c.sets = agentapi.Closed{}, c.sets+1
	if failed {
		c.late = time.Now().Add(wsrep.LateTime)
	}
}

// question is what was known when a server was asked.
type question struct {
	number int64 // of the change of sites, 0 for none
	sets   int
	at     time.Time
}

// question is one to a server while the change of sites has a number.
func (c *closing) question(number int64) question { return question{number, c.sets, time.Now()} }

// pause is for how long a server is not asked again after a question.
func (c *closing) pause(q question, now time.Time) time.Duration {
	if q.number != c.number {
		c.number, c.since = q.number, now
	}
	if q.number > 0 && now.Sub(c.since) < closedTime {
		return readClosed
	}
	return readInterval
}

// read asks the server, and where it ends once it refuses writes: nothing that began before is left then.
func (q question) read(of Server) (read *agentapi.Following, end string, err error) {
	read, err = of.Read(context.Background())
	if err == nil && q.number > 0 && read.ReadOnly {
		end, _ = of.End(context.Background()) // unknown while it has more to apply
	}
	return read, end, err
}

// see takes where a server ends, "" for unknown. That it was made read-only meanwhile is no answer: it may have
// committed something in between.
func (c *closing) see(q question, end string) {
	c.closed = agentapi.Closed{}
	if q.number > 0 && end != "" && q.sets == c.sets && q.at.After(c.late) {
		c.closed = agentapi.Closed{By: q.number, Position: end}
	}
}

// end is where a server ends that was read, for the change of sites with a number.
func (c *closing) end(number int64, read *agentapi.Following) agentapi.Closed {
	if read == nil || !read.ReadOnly || c.closed.By != number {
		return agentapi.Closed{}
	}
	return c.closed
}

// switching is the number of the change of sites that the configuration has, 0 for none.
func (d Dependencies) switching() int64 {
	if d.Switching == nil {
		return 0
	}
	return d.Switching()
}
