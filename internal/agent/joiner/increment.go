package joiner

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// incrementalPort is where a joiner is sent the write-sets it misses (ist.recv_addr).
const incrementalPort = 4568

// EndStalledIST ends a run that waits for write-sets over a connection nothing comes over any more (sst.ISTWatch).
func (r *Room) EndStalledIST(now time.Time) {
	if !r.under() || r.Config.Node == nil || now.Sub(r.heardAt) < showEvery {
		return
	}
	r.heardAt = now
	limit := r.Config.Node.StateTransfer.Stall()
	silent, ok := r.silence(incrementalPort)
	if !r.ist.See(now, sst.ISTLook{Connected: ok, Silent: silent, Position: r.Run.Position, Frozen: r.Volume.Frozen()}, showEvery, limit) {
		return
	}
	r.end(&agentapi.Failure{Reason: agentapi.FailureStalled, At: now, Message: fmt.Sprintf(
		"no write-set has come from %s for %s over a connection that is still there (port %d): the network may swallow them; the transfer was ended and will be begun anew",
		r.donor(), limit, incrementalPort)})
}

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

// FollowCatchUp shows now and then how far a member has come that applies what it missed: during an incremental
// transfer, and after a full one, while what was written meanwhile waits in a queue.
func (r *Room) FollowCatchUp(now time.Time) {
	j, at := r.Join, r.Run.Position
	if j == nil || j.EndedAt != nil || j.Phase != agentapi.JoinApplying || now.Sub(r.lag.at) < showEvery {
		return
	}
	ahead := peerNewest(r.Group.Views, at)
	if ahead < at.Seqno {
		return // the others' answers are older than our own position, or there are none
	}
	if note := r.Run.Note; note != nil && !note.Transfer && r.Run.From.UUID == at.UUID {
		j.WriteSets = at.Seqno - r.Run.From.Seqno
	}
	if at.Seqno > r.applied {
		r.applied, j.MovedAt = at.Seqno, now
	}
	l := lag{at: now, behind: ahead - at.Seqno}
	j.Behind, j.ETA = l.behind, l.closed(r.lag)
	r.lag = l
}
