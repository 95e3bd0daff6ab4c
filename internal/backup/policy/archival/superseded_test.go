package archival

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestSupersede: another cluster that has taken over stays known, also when the store does not have the record any
// more, until a person overrules that very record. What it lacks is counted in the domain of its last transaction.
func TestSupersede(t *testing.T) {
	p := &task.Promotion{Number: 1, Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-30,7-2-5", At: noon}
	c := &v1alpha1.GaleraCluster{}
	see := func(want string, surplus int64, a *task.Archived) {
		t.Helper()
		Supersede(c, a)
		s := c.Status.Superseded
		switch {
		case (s == nil) != (want == ""), s != nil && s.ID != want:
			t.Errorf("%+v instead of %s", s, want)
		case s != nil && (s.Surplus == nil) != (surplus < 0), s != nil && s.Surplus != nil && *s.Surplus != surplus:
			t.Errorf("%+v instead of %d more", s, surplus)
		}
	}
	see("", 0, nil)
	see("", 0, &task.Archived{GTID: "0-1-40"})
	see("1-bbbbbbbb", -1, &task.Archived{Promotion: p})
	see("1-bbbbbbbb", 0, &task.Archived{Promotion: p, GTID: "0-1-28"})
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-1-42"})
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-9-99"})
	see("1-bbbbbbbb", 12, &task.Archived{GTID: "0-1-42"})
	see("1-bbbbbbbb", 12, nil)
	if !c.Refuses() {
		t.Error("accepts writes")
	}
	c.Spec.OverrulesPromotion = "1-bbbbbbbb"
	see("1-bbbbbbbb", 12, &task.Archived{Promotion: p, GTID: "0-1-43"})
	if c.Refuses() {
		t.Error("refuses writes though that was overruled")
	}
	see("1-bbbbbbbb", 12, &task.Archived{GTID: "0-1-43"}) // it was made anew, and has not read the store
	see("", 0, &task.Archived{GTID: "0-1-43", Next: 2})
	later := &task.Promotion{Number: 2, Namespace: "site", Name: "third", UID: "cccccccc-1", GTID: "0-1-50"}
	see("2-cccccccc", 5, &task.Archived{Promotion: later, GTID: "0-1-55"})
	if !c.Refuses() {
		t.Error("another promotion was not overruled")
	}
}
