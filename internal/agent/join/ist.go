package join

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// istPort is where a joiner receives IST (ist.recv_addr).
const istPort = 4568

// EndStalledIST kills mariadbd when its IST has stalled (lifecycle.ISTWatch).
func (r *JoinerTracker) EndStalledIST(now time.Time) {
	if !inProgress(r.Run) || r.Config.Node == nil || now.Sub(r.istObservedAt) < reportInterval {
		return
	}
	r.istObservedAt = now
	limit := r.Config.Node.StateTransfer.Stall()
	silent, ok := r.silence(istPort)
	if !r.ist.See(now, lifecycle.ISTObservation{Connected: ok, Silent: silent, Position: r.Run.Position,
		Frozen: r.Volume.Frozen()}, reportInterval, limit) {
		return
	}
	r.endTransfer(&agentapi.Failure{Reason: agentapi.FailureStalled, At: now, Message: fmt.Sprintf(
		"IST from %s: nothing received for %s on an established connection (port %d); the network may drop packets. "+
			"mariadbd was killed, the join is tried again",
		donorOf(r.Join), limit, istPort)})
}

// lag is by how many write-sets a member was behind the others at a time; the zero lag is none known.
type lag struct {
	at     time.Time
	behind int64
}

// closed is when the lag will be zero if it shrinks as it did since an earlier one; nil when it does not shrink.
func (l lag) closed(earlier lag) *time.Time {
	shrunk, took := earlier.behind-l.behind, l.at.Sub(earlier.at)
	if earlier.at.IsZero() || shrunk <= 0 || took <= 0 {
		return nil
	}
	at := l.at.Add(time.Duration(float64(l.behind) / float64(shrunk) * float64(took))).Round(time.Second)
	return &at
}

// FollowCatchUp updates now and then how far a joiner has applied what it missed: during IST, and after SST the
// write-sets that were queued meanwhile.
func (r *JoinerTracker) FollowCatchUp(now time.Time) {
	j, at := r.Join, r.Run.Position
	if j == nil || j.EndedAt != nil || j.Phase != agentapi.JoinApplying || now.Sub(r.lag.at) < reportInterval {
		return
	}
	ahead := peerNewest(r.Group.Views, at)
	if ahead < at.Seqno {
		return // the others' answers are older than our own position, or there are none
	}
	if note := r.Run.Note; note != nil && !note.SST && r.Run.From.UUID == at.UUID {
		j.WriteSets = at.Seqno - r.Run.From.Seqno
	}
	if at.Seqno > r.applied {
		r.applied, j.MovedAt = at.Seqno, now
	}
	l := lag{at: now, behind: ahead - at.Seqno}
	j.Behind, j.ETA = l.behind, l.closed(r.lag)
	r.lag = l
}
