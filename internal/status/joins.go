package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// join describes a member's last or current join. The agent updates the numbers of a running join,
// and so this status, every ten seconds.
func join(j *agentapi.Join) *v1alpha1.JoinStatus {
	if j == nil {
		return nil
	}
	out := &v1alpha1.JoinStatus{
		Kind: known(j.Kind, joinKinds, ""), Donor: j.Donor, Phase: known(j.Phase, joinPhases, ""), WriteSets: j.WriteSets,
		WriteSetsBehind: j.Behind, ETA: timeOf(j.ETA),
		Protocol: j.Protocol, Cipher: j.Cipher, StartedAt: timeOf(&j.StartedAt), EndedAt: timeOf(j.EndedAt),
	}
	if j.Kind == agentapi.JoinSST {
		out.BytesDone, out.BytesTotal, out.Rate = inMi(j.Bytes), inMi(j.Total), inKi(j.Rate)
	}
	if j.EndedAt == nil {
		out.Message = joinMessage(j)
	}
	return out
}

// joinMessage describes a running join in one sentence.
func joinMessage(j *agentapi.Join) string {
	var b strings.Builder
	b.WriteString(map[string]string{agentapi.JoinSST: "SST", agentapi.JoinIST: "IST"}[j.Kind])
	if j.Donor != "" {
		b.WriteString(" from " + j.Donor)
	}
	fmt.Fprintf(&b, ", %s", strings.ToLower(j.Phase))
	if j.Kind == agentapi.JoinSST && j.Bytes > 0 {
		fmt.Fprintf(&b, ", %d", j.Bytes>>20)
		if j.Total > 0 {
			fmt.Fprintf(&b, " of %d MiB (%d %%)", j.Total>>20, min(100, 100*j.Bytes/j.Total))
		} else {
			b.WriteString(" MiB")
		}
	}
	if j.Rate > 0 {
		fmt.Fprintf(&b, ", %.1f MiB/s", float64(j.Rate)/(1<<20))
	}
	switch {
	case j.WriteSets > 0:
		fmt.Fprintf(&b, ", %s received, %d behind", galera.Count(j.WriteSets, "write-set"), j.Behind)
	case j.Behind > 0:
		fmt.Fprintf(&b, ", %s behind", galera.Count(j.Behind, "write-set"))
	}
	if j.ETA != nil {
		b.WriteString(", until about " + j.ETA.UTC().Format(time.TimeOnly) + " UTC")
	}
	return b.String()
}

// inMi rounds to MiB, nil for nothing.
func inMi(bytes int64) *resource.Quantity { return rounded(bytes, 1<<20) }

func inKi(bytes int64) *resource.Quantity { return rounded(bytes, 1<<10) }

func rounded(bytes, unit int64) *resource.Quantity {
	if bytes <= 0 {
		return nil
	}
	return resource.NewQuantity(max(bytes/unit, 1)*unit, resource.BinarySI)
}

// cache describes the member's gcache. The oldest write-set changes all the time: it is updated only together
// with another field.
func cache(c *agentapi.Cache, before v1alpha1.MemberStatus, nodeState string) *v1alpha1.CacheStatus {
	if c == nil {
		return nil
	}
	out := &v1alpha1.CacheStatus{Size: *resource.NewQuantity(c.Size, resource.BinarySI), OldestSeqno: c.Oldest}
	if c.WindowSeconds > 0 {
		out.Window = &metav1.Duration{Duration: time.Duration(c.WindowSeconds) * time.Second}
	}
	if old := before.Cache; old != nil && before.NodeState == nodeState && old.Size.Cmp(out.Size) == 0 &&
		sameWindow(old.Window, out.Window) {
		out.OldestSeqno = old.OldestSeqno
	}
	return out
}

// replication reports how far the others are. The agent has rounded what it measures, so that it changes rarely.
func replication(r *agentapi.Replication) *v1alpha1.MemberReplicationStatus {
	if r == nil {
		return nil
	}
	w := r.SendWindows
	out := &v1alpha1.MemberReplicationStatus{
		SendWindows: v1alpha1.SendWindows{UserSendWindow: within(w.UserSendWindow, 512),
			SendWindow: within(w.SendWindow, 1024)}}
	if r.RoundTripMicroseconds > 0 {
		out.RoundTrip = &metav1.Duration{Duration: time.Duration(r.RoundTripMicroseconds) * time.Microsecond}
	}
	return out
}

// within keeps a number of an agent within what the API server accepts.
func within(n, most int) int32 { return int32(min(max(n, 1), most)) }

func sameWindow(a, b *metav1.Duration) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Duration == b.Duration
}
