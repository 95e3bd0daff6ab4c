package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// approved says that a person vouches for exactly the member that would be chosen, in exactly
// this attempt, and without everybody who is missing: an approval that was used, or that a later
// operation has overtaken, is none; and it is not for members that somebody just cannot see.
func approved(s galera.Snapshot, v verdict, best galera.Member, ok bool) bool {
	t := s.Trust
	if !ok || t == nil || t.Member != best.Name || t.Position != best.Position || t.Epoch != attempt(s, best) {
		return false
	}
	return !slices.ContainsFunc(v.missing(), func(name string) bool { return !covered(t, v, name) })
}

// covered says that a person gave the member up for what keeps it away now.
func covered(t *galera.Trust, v verdict, name string) bool {
	switch {
	case slices.Contains(v.unable, name):
		return slices.Contains(t.Unable, name)
	case slices.Contains(t.Without, name):
		return true
	case slices.Contains(v.silent, name), slices.Contains(v.later, name):
		// That the server of a silent member does not run a person has to vouch for, and that the data of an ended one need another
		// image was not known to that person.
		return false
	}
	// Where an agent answers, the server is ended, or seen not to run, before anything is started.
	return slices.Contains(t.Running, name)
}

// attempt is the epoch of the operation that starts best, or of the one that would.
func attempt(s galera.Snapshot, best galera.Member) int64 {
	if s.Operation != nil && s.Operation.BootstrapMember == best.Name {
		return s.Operation.Epoch
	}
	return highestEpoch(s) + 1
}

// nobodyMissing says that all members are there, and no approval is needed.
func nobodyMissing(s galera.Snapshot) bool { return len(judge(s).missing()) == 0 }

// explain says who is missed, what is known, and the exact command of the approval.
func explain(s galera.Snapshot, v verdict, best galera.Member, ok bool) (Decision, bool) {
	reason, text := ReasonWaitingForMembers, ""
	for _, g := range []struct {
		reason, text string
		names        []string
	}{
		{ReasonDataLost, "lost their data", v.lost},
		{ReasonForeignData, "hold data of another cluster", v.foreign},
		{ReasonForeignData, "hold write-sets that the latest line of the history does not have", v.beyond},
		{ReasonOrderBook, "cannot read their order book", v.damaged},
		{ReasonDowngrade, "hold data that a later MariaDB has used, which their image must not touch: put the later image back", v.later},
		{ReasonPositionUnknown, "cannot tell their position", v.unknown},
		{ReasonMemberFailed, "run and do not answer" + mend(galera.Hung), v.hung},
		{ReasonMemberFailed, "were killed and have not ended" + mend(galera.Killed), v.killed},
		{ReasonMemberFailed, "are still being examined" + mend(galera.SlowLook), v.slow},
		{ReasonMemberFailed, "have a volume that is frozen" + mend(galera.Frozen), v.frozen},
		{ReasonMemberFailed, "have a volume that refuses writes" + mend(galera.ReadOnly), v.readOnly},
		{ReasonMemberFailed, "cannot start" + whyUnable(s, v), v.unable},
		{ReasonWaitingForMembers, "do not answer", v.silent},
	} {
		if len(g.names) > 0 {
			reason = g.reason
			text += list(g.names) + " " + g.text + "; "
		}
	}
	text = "no Primary component, and a member that may hold later writes is missing: " + text + "known positions: " + positions(s)
	if !ok {
		return Decision{Reason: reason, Message: text, Blocked: reason != ReasonWaitingForMembers}, true
	}
	ends := ""
	if v.running(s) {
		ends = " (a server given up as " + string(galera.StillRunning) + " is ended first, and counts with what it knows as soon as that can be told)"
	}
	if s.Trust != nil {
		text += ". The approval in spec.recovery is for another situation, and does nothing"
	}
	text += fmt.Sprintf(". Bring the missing members back; or, if they are gone for good and certainly not running, accept to lose what only they knew%s: "+
		"kubectl patch galera %s -n %s --type=merge -p '%s'", ends, s.Name, s.Namespace, approvalPatch(s, v, best))
	return Decision{Reason: reason, Message: text, Blocked: reason != ReasonWaitingForMembers}, true
}

// approvalPatch is spec.recovery.approval as a merge patch: it fits this situation, and no other.
func approvalPatch(s galera.Snapshot, v verdict, best galera.Member) string {
	var patch struct {
		Spec struct {
			Recovery struct {
				Approval approval `json:"approval"`
			} `json:"recovery"`
		} `json:"spec"`
	}
	patch.Spec.Recovery.Approval = approval{
		Member: best.Name, History: best.Position.UUID, Seqno: best.Position.Seqno, Epoch: attempt(s, best), Without: givenUp(s, v),
	}
	text, err := json.Marshal(patch)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

// approval has the fields of the API's RecoveryApproval.
type approval struct {
	Member  string          `json:"member"`
	History string          `json:"history"`
	Seqno   int64           `json:"seqno"`
	Epoch   int64           `json:"epoch"`
	Without []givenUpMember `json:"without"`
}

type givenUpMember struct {
	Name string           `json:"name"`
	As   galera.GivenUpAs `json:"as"`
}

func positions(s galera.Snapshot) string {
	var b strings.Builder
	for i, m := range s.Members {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.Name + " ")
		switch {
		case !m.Known:
			b.WriteString("silent")
		case m.Data == galera.DataPresent:
			b.WriteString(m.Position.String())
		default:
			b.WriteString(strings.ToLower(string(m.Data)))
		}
	}
	return b.String()
}
