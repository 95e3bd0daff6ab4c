package result

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Operation is the observation of a load while the operator does something to the cluster.
type Operation struct {
	// Name is the API's; Node is the one that is restarted, joins, or becomes the primary.
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
	// Store is the GaleraBackupStore of a backup.
	Store string `json:"store,omitempty"`
	// Primary is the host of NAME-primary, which the load goes through.
	Primary string `json:"primary"`
	Threads int    `json:"threads"`
	// BaseSeconds the load runs undisturbed; the operator acts shortly after.
	BaseSeconds int `json:"baseSeconds"`
	// PatienceSeconds is when the runner gives up.
	PatienceSeconds int `json:"patienceSeconds"`
}

// rejoins is how a node comes back that an operation takes away.
var rejoins = map[string]string{v1alpha1.OperationRestart: "IST", v1alpha1.OperationJoinIST: "IST",
	v1alpha1.OperationJoinSST: "SST"}

// Absent reports whether an operation takes its node away for a while.
func Absent(operation string) bool { return rejoins[operation] != "" }

// OperationFacts is what was seen of one.
type OperationFacts struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
	// Kind is how a node that was away came back: IST or SST.
	Kind string `json:"kind,omitempty"`
	// Seconds that a node was away, a node gave a backup, or a switch took with the way back; 0 for others, whose
	// beginning is not known to a part of a second.
	Seconds float64 `json:"seconds,omitempty"`
	// Before and During are parts of the load; what follows shortly after the end belongs to it.
	Before Part `json:"before"`
	During Part `json:"during"`
	// Transactions and Errors are those of the whole load.
	Transactions int64   `json:"transactions"`
	Errors       int64   `json:"errors"`
	LastError    string  `json:"lastError,omitempty"`
	Series       []Point `json:"series,omitempty"`
}

// Part of a load.
type Part struct {
	TPS float64 `json:"tps"`
	// P95 is a latency, and Gap the longest time in which no client finished a transaction, both in milliseconds.
	P95 float64 `json:"p95"`
	Gap float64 `json:"gap"`
}

// Commit is one transaction of a load: when it was finished, in seconds since some time, and how long it took.
type Commit struct{ At, Milliseconds float64 }

// PartOf computes the part of a load between two times. Its commits are in the order of their ends.
func PartOf(commits []Commit, from, to float64) (p Part) {
	var took []float64
	last := from
	for _, c := range commits {
		if c.At < from || c.At > to {
			continue
		}
		took = append(took, c.Milliseconds)
		p.Gap, last = max(p.Gap, 1e3*(c.At-last)), c.At
	}
	p.Gap = max(p.Gap, 1e3*(to-last))
	if len(took) > 0 && to > from {
		slices.Sort(took)
		p.TPS, p.P95 = float64(len(took))/(to-from), Quantile(took, 95)
	}
	return p
}

func (f *OperationFacts) addTo(to map[string]float64) {
	to[FigureTPS], to[FigureP95], to[FigureGap] = f.During.TPS, f.During.P95, f.During.Gap
	to[FigureTPSBefore], to[FigureP95Before], to[FigureGapBefore] = f.Before.TPS, f.Before.P95, f.Before.Gap
	to[FigureErrors] = float64(f.Errors)
	if f.Seconds > 0 {
		to[FigureSeconds] = f.Seconds
	}
	if f.Before.TPS > 0 {
		to[FigureLoadLoss] = 100 * (1 - f.During.TPS/f.Before.TPS)
	}
}

// Restarts reports whether a node was restarted on purpose: a switch may restart each.
func (o Output) Restarts(member string) bool {
	f := o.Operation
	return f != nil && (f.Name == v1alpha1.OperationSwitch || Absent(f.Name) && f.Node == member)
}

// Rejoins reports whether nodes leave and join on purpose.
func (o Output) Rejoins() bool {
	f := o.Operation
	return o.Transfer != nil || f != nil && (f.Name == v1alpha1.OperationSwitch || Absent(f.Name))
}

// Gives reports whether an operation makes nodes give something: their state to a joiner, or a backup.
func (o Output) Gives() bool {
	return o.Operation != nil && (o.Rejoins() || o.Operation.Name == v1alpha1.OperationBackup)
}

// rejoined reports whether the node came back by another kind of transfer than the operation is about.
func rejoined(o *Output, _ Limits) string {
	if f := o.Operation; f != nil && f.Kind != rejoins[f.Name] {
		return fmt.Sprintf("%s came back by %s instead of %s", f.Node, f.Kind, rejoins[f.Name])
	}
	return ""
}
