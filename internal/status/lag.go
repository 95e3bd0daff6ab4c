package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// setLag sets the condition while a limit counts.
func setLag(status *v1alpha1.GaleraClusterStatus, in Input, set func(kind string, v condition)) {
	if status.Replication == nil || status.Replication.Lag == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionWithinMaxLag)
		return
	}
	set(v1alpha1.ConditionWithinMaxLag, withinMaxLag(in, *status.Replication.Lag))
}

// withinMaxLag describes where NAME-readonly leads, without numbers that change in each pass.
func withinMaxLag(in Input, lag v1alpha1.LagStatus) condition {
	c := in.cluster()
	limit, source := *observe.MaxLag(c), followedName(c, followedOf(in))
	behind, unknown := observe.Lag(c, in.Seen, in.Now)
	patience := observe.Patience(limit)
	back := fmt.Sprintf("%s-readonly leads to no node until the cluster was at most %s behind for %s. Clients that may "+
		"read older data find it at %s", c.Name, short(limit/2), short(patience), c.Name)
	switch {
	case lag.Exceeded && unknown != "":
		return no(v1alpha1.ReasonLagUnknown, fmt.Sprintf("it is not known how far the cluster is behind %s: %s. %s", source,
			unknown, back))
	case lag.Exceeded && behind > limit:
		return no(v1alpha1.ReasonLagExceeded, fmt.Sprintf("the cluster is more than %s (spec.readOnlyService.maxLag) "+
			"behind %s. %s", short(limit), source, back))
	case lag.Exceeded:
		return no(v1alpha1.ReasonLagExceeded, fmt.Sprintf("the cluster catches up with %s. %s", source, back))
	}
	text := fmt.Sprintf("%s-readonly leads to the nodes: they are at most %s (spec.readOnlyService.maxLag) behind %s",
		c.Name, short(limit), source)
	if unknown != "" {
		text += fmt.Sprintf(". It ends if it is not known for %s how far: %s", short(patience), unknown)
	}
	return yes(v1alpha1.ReasonWithinMaxLag, text)
}

// short is a duration without parts that are zero.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
