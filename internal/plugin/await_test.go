package plugin

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// lease is an operator's, renewed so long ago.
func lease(silent time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "galera-operator-system",
		Name: "galera-operator"},
		Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(15)),
			RenewTime: &metav1.MicroTime{Time: time.Now().Add(-silent)}}}
}

// TestAwaitNamesMissingMembers: a wait says once that no operator is at work, whatever it waits for, and at its end
// that nothing goes on by itself.
func TestAwaitNamesMissingMembers(t *testing.T) {
	const absent = "no operator has been at work for"
	for name, c := range map[string]struct {
		silent, timeout time.Duration
		said            int
		end             string
	}{
		"at work":        {0, 20 * time.Second, 0, "after 20s: nothing has come; it goes on"},
		"away":           {time.Hour, 20 * time.Second, 1, "after 20s: nothing has come; " + absent},
		"a short wait":   {time.Hour, 2 * time.Second, 0, "after 2s: nothing has come; " + absent},
		"it goes midway": {30 * time.Second, 20 * time.Second, 0, "after 20s: nothing has come; " + absent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "shop"}}
				var said bytes.Buffer
				e := &env{err: &said, namespace: "db", kube: fakeKube(t, shop, lease(c.silent)).Build()}
				never := func(context.Context) (string, bool, error) { return "waiting", false, nil }
				err := e.await(t.Context(), c.timeout, task{cluster: "shop", poll: never, late: "nothing has come",
					goesOn: "it goes on"})
				if err == nil || !strings.HasPrefix(err.Error(), c.end) {
					t.Errorf("ended with %v, want %s", err, c.end)
				}
				if n := strings.Count(said.String(), absent); n != c.said {
					t.Errorf("said %d times that no operator is at work, want %d:\n%s", n, c.said, &said)
				}
			})
		})
	}
}

// TestSettledLine: what was before a change is not reported as its progress.
func TestSettledLine(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 2}}
	never := func(*v1alpha1.GaleraCluster) bool { return false }
	for status, want := range map[metav1.ConditionStatus]string{
		metav1.ConditionTrue: "shop: waiting for the operator", metav1.ConditionFalse: "shop: Reason: the message",
	} {
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: "Reason",
			Message:            "the message",
			ObservedGeneration: 2}}
		if line, done, err := settled(c, never); line != want || done || err != nil {
			t.Errorf("%q %t %v", line, done, err)
		}
	}
}
