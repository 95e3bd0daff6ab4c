package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// lag is by how many write-sets a member was behind the others at a time; the zero lag is none known.
type lag struct {
	at     time.Time
	behind int64
}

// closed is when a lag will be none, if it goes on shrinking as it did since an earlier one; nil when it does not.
func (l lag) closed(earlier lag) *time.Time {
	shrunk, took := earlier.behind-l.behind, l.at.Sub(earlier.at)
	if earlier.at.IsZero() || shrunk <= 0 || took <= 0 {
		return nil
	}
	at := l.at.Add(time.Duration(float64(l.behind) / float64(shrunk) * float64(took))).Round(time.Second)
	return &at
}

// followCatchUp shows now and then how far a member has come that applies what it missed: during an incremental
// transfer, and after a full one, while what was written meanwhile waits in a queue.
func (a *agent) followCatchUp(now time.Time) {
	j, f := a.join, &a.run.follow
	if j == nil || j.EndedAt != nil || j.Phase != agentapi.JoinApplying || now.Sub(f.lag.at) < showEvery {
		return
	}
	ahead := a.groupSeqno()
	if ahead < a.position.Seqno {
		return // the others' answers are older than our own position, or there are none
	}
	if note := a.run.note; note != nil && !note.Transfer && a.run.from.UUID == a.position.UUID {
		j.WriteSets = a.position.Seqno - a.run.from.Seqno
	}
	l := lag{at: now, behind: ahead - a.position.Seqno}
	j.Behind, j.ETA = l.behind, l.closed(f.lag)
	f.lag = l
}

// groupSeqno is the newest write-set any other member of our history is known to hold, -1 when none is.
func (a *agent) groupSeqno() int64 {
	newest := int64(-1)
	for _, p := range lifecycle.PrimaryPeers(a.peers) {
		if p.Position.UUID == a.position.UUID {
			newest = max(newest, p.Position.Seqno)
		}
	}
	return newest
}
