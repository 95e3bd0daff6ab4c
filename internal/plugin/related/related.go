// Package related finds what belongs to a cluster alongside its nodes, and describes what is wrong with it: backups,
// the archive, users and databases.
package related

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// States of an area and of what was found in it.
const (
	OK      = "OK"
	Waiting = "Waiting"
	Unknown = "Unknown"
	Failing = "Failing"
)

// order is from good to bad.
var order = []string{OK, Waiting, Unknown, Failing}

// Report is what was found, one area for each question that people ask. An area is absent where there is nothing to ask
// about.
type Report struct {
	// Operator reports whether no operator is at work; absent if one is, or if that could not be found out.
	Operator *Finding `json:"operator,omitempty"`
	Backups  *Area    `json:"backups,omitempty"`
	Archive  *Area    `json:"archive,omitempty"`
	Users    *Area    `json:"users,omitempty"`
	// Proxies is absent without a proxy; Proxied has them with their pools.
	Proxies *Area   `json:"proxies,omitempty"`
	Proxied []Proxy `json:"proxied,omitempty"`
	// Unread names the kinds that could not be read.
	Unread []Unread `json:"unread,omitempty"`
}

// Area is one mark on the screen.
type Area struct {
	State string `json:"state"`
	// Last is the last backup that is complete.
	Last     *Last     `json:"last,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// Last is a backup that is complete.
type Last struct {
	Name        string      `json:"name"`
	CompletedAt metav1.Time `json:"completedAt"`
	StoredSize  string      `json:"storedSize,omitempty"`
	Position    string      `json:"position,omitempty"`
	// Verified is the status of that condition, "" where no test was asked for.
	Verified metav1.ConditionStatus `json:"verified,omitempty"`
}

// Finding is one object that is not as it should be.
type Finding struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	// Do describes what fixes it, beyond the message.
	Do string `json:"do,omitempty"`
	// Command is the next one to run.
	Command string `json:"command,omitempty"`
}

// Objects are what refers to a cluster. Those of other clusters are not among them, except for stores.
type Objects struct {
	Stores    []v1alpha1.GaleraBackupStore
	Schedules []v1alpha1.GaleraBackupSchedule
	Backups   []v1alpha1.GaleraBackup
	Users     []v1alpha1.GaleraUser
	Databases []v1alpha1.GaleraDatabase
	Proxies   []v1alpha1.GaleraProxy
	// Secrets are the binding Secrets there are, by namespace: a namespace that could not be read is not in it.
	Secrets map[string][]string
	Unread  []Unread
	// Leases are those of operators.
	Leases []coordinationv1.Lease
}

// Judge describes what is wrong. It is pure.
func Judge(c *v1alpha1.GaleraCluster, o Objects, now time.Time) Report {
	r := Report{Unread: o.Unread, Operator: operator(c, o.Leases, now)}
	r.Backups, r.Archive = backups(c, o, now), archive(c, o)
	r.Users = users(o, now)
	r.Proxied, r.Proxies = proxies(o)
	return r
}

// area is one with these findings, the worst first. What could not be read leaves it unknown, unless it is known to be
// bad.
func area(found []Finding, unread bool) *Area {
	a := &Area{State: OK, Findings: found}
	slices.SortStableFunc(a.Findings, func(a, b Finding) int { return rank(b.State) - rank(a.State) })
	if len(found) > 0 {
		a.State = found[0].State
	}
	if unread && rank(a.State) < rank(Unknown) {
		a.State = Unknown
	}
	return a
}

func rank(state string) int { return slices.Index(order, state) }

// about is a finding about an object.
func about(kind string, o client.Object, state, reason, message string) Finding {
	return Finding{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), State: state, Reason: reason,
		Message: message}
}

// unread reports whether one of these kinds could not be read.
func (o Objects) unread(kinds ...string) bool {
	return slices.ContainsFunc(o.Unread, func(u Unread) bool { return slices.Contains(kinds, u.Kind) })
}
