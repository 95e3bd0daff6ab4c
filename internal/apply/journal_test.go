package apply

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestLeap: no two losses of the status lead to the same epoch, and none to one that was used.
func TestLeap(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, row := range map[string]struct {
		had  int64
		a    plan.RecordUUID
		want int64
	}{
		"what members remember":                   {2, plan.RecordUUID{Epoch: 7}, 7},
		"never back":                              {9, plan.RecordUUID{Epoch: 7}, 9},
		"a member may remember more":              {0, plan.RecordUUID{Epoch: 7, Leap: true}, now.Unix()},
		"after a loss in the very same second":    {0, plan.RecordUUID{Epoch: now.Unix(), Leap: true}, now.Unix() + 1},
		"a hibernation was begun before, at that": {now.Unix() + 5, plan.RecordUUID{Epoch: 7, Leap: true}, now.Unix() + 6},
	} {
		status := v1alpha1.GaleraClusterStatus{Epoch: row.had}
		if !Journal(&status, row.a, now) || status.Epoch != row.want {
			t.Errorf("%s: %d, want %d", name, status.Epoch, row.want)
		}
	}
}

// TestOperationsDiffer: two operations of one epoch, which are possible when the status goes back, have different ids.
func TestOperationsDiffer(t *testing.T) {
	begin := plan.Begin{Operation: galera.Operation{ID: "recover-7", Type: galera.OpRecover, Epoch: 7}}
	var one, other v1alpha1.GaleraClusterStatus
	Journal(&one, begin, time.Now())
	Journal(&other, begin, time.Now())
	id := one.Operation.ID
	if id == other.Operation.ID || !strings.HasPrefix(id, "recover-7-") || strings.Contains(id, "/") {
		t.Errorf("%q, %q", one.Operation.ID, other.Operation.ID)
	}
}

// TestAbandonedIsRemembered until an operation of its type ends well; other ends of operations change nothing.
func TestAbandonedIsRemembered(t *testing.T) {
	status := v1alpha1.GaleraClusterStatus{}
	end := func(of galera.OperationType, c plan.Complete) *v1alpha1.AbandonedOperation {
		status.Operation = &v1alpha1.OperationStatus{Type: string(of)}
		Journal(&status, c, time.Unix(1_800_000_000, 0))
		return status.Abandoned
	}
	cause := galera.Abandoned{Type: galera.OpSwitchTLS, Step: "Rebootstrap", Goal: "Strict", Member: "db-1", PodUID: "u",
		Attempts: 2, Message: strings.Repeat("ö", 5000)}
	kept := end(galera.OpSwitchTLS, plan.Complete{Abandoned: true, Cause: &cause})
	if kept == nil || kept.Node != "db-1" || kept.PodUID != "u" || kept.Attempts != 2 || kept.Step != "Rebootstrap" ||
		kept.Goal != "Strict" || len([]rune(kept.Message)) != maxAbandonedMessage || kept.AbandonedAt.IsZero() {
		t.Fatalf("%+v", kept)
	}
	if end(galera.OpSwitchTLS, plan.Complete{Abandoned: true}) == nil || end(galera.OpRestart, plan.Complete{}) == nil {
		t.Error("forgotten")
	}
	if end(galera.OpRecover, plan.Complete{Reached: true}) != nil {
		t.Error("remembered after a recovery that has reached the same")
	}
	_ = end(galera.OpSwitchTLS, plan.Complete{Abandoned: true, Cause: &cause})
	if end(galera.OpSwitchTLS, plan.Complete{}) != nil {
		t.Error("remembered after a switch that ended well")
	}
}

// TestAbandonedIsReadBack: the next operator knows from the status what this one has given up, and why.
func TestAbandonedIsReadBack(t *testing.T) {
	cause := galera.Abandoned{Type: galera.OpSwitchTLS, Step: "Rebootstrap", Goal: "Strict", Member: "db-1", PodUID: "u",
		Attempts: 2, Message: "has no position"}
	c := v1alpha1.GaleraCluster{Status: v1alpha1.GaleraClusterStatus{
		Operation: &v1alpha1.OperationStatus{Type: string(galera.OpSwitchTLS)}}}
	Journal(&c.Status, plan.Complete{Abandoned: true, Cause: &cause}, time.Unix(1_800_000_000, 0))
	stored, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var read v1alpha1.GaleraCluster
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	got := observe.Snapshot(observe.Facts{Cluster: &read}, nil, agentapi.NodeConfig{}, time.Now()).Abandoned
	if got == nil || *got != cause {
		t.Errorf("%+v, want %+v", got, cause)
	}
	for i := range reflect.TypeFor[galera.Abandoned]().NumField() {
		if reflect.ValueOf(cause).Field(i).IsZero() {
			t.Errorf("%s is not shown", reflect.TypeFor[galera.Abandoned]().Field(i).Name)
		}
	}
}
