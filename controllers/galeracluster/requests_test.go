package galeracluster

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// simulation is a cluster of three whose requests are followed pass by pass.
type simulation struct {
	t    *testing.T
	f    observe.Facts
	seen map[string]observe.Seen
	s    galera.Snapshot
	now  time.Time
	// refused is what the last pass found wrong.
	refused string
}

var nodesOf = []string{"db-0", "db-1", "db-2"}

func begin(t *testing.T) *simulation {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Spec.Replicas, c.Status.Replicas, c.Status.ClusterUUID = "db", 3, 3, "x"
	y := &simulation{t: t, f: observe.Facts{Cluster: c, PrimaryService: &corev1.Service{}},
		seen: map[string]observe.Seen{}, now: time.Unix(1_800_000_000, 0)}
	y.s.Replicas, y.s.ClusterUUID = 3, "x"
	for i, name := range nodesOf {
		y.starts(name)
		y.s.Members = append(y.s.Members, galera.Member{Name: name, Ordinal: i, Known: true, Data: galera.DataPresent,
			Phase:  galera.PhaseRunning,
			Server: &galera.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: "x"},
			Pod:    galera.Pod{Exists: true, Ready: true, Role: v1alpha1.RoleReplica}})
	}
	y.s.Members[0].Pod.Role = v1alpha1.RolePrimary
	return y
}

// starts gives a node a new mariadbd.
func (y *simulation) starts(name string) {
	y.now = y.now.Add(time.Second)
	y.seen[name] = observe.Seen{Live: true,
		Report: agentapi.Report{Server: &agentapi.Server{StartedAt: y.now.Add(123456789)}}}
}

func (y *simulation) ask(annotation, value string) {
	y.f.Cluster.Annotations = map[string]string{annotation: value}
}

// pass is one pass of the operator: it must leave this state and message.
func (y *simulation) pass(state, contains string) v1alpha1.RequestStatus {
	y.t.Helper()
	record, refused := requests(y.f, y.seen, y.s, y.now)
	y.refused = ""
	if refused != nil {
		y.refused = refused.Message
	}
	y.f.Cluster.Status.Requests = record
	if len(record) != 1 {
		y.t.Fatalf("%+v", record)
	}
	if record[0].State != state || !strings.Contains(record[0].Message, contains) {
		y.t.Errorf("%s %q, want %s %q", record[0].State, record[0].Message, state, contains)
	}
	return record[0]
}

func TestPromoteRequest(t *testing.T) {
	y := begin(t)
	y.ask(v1alpha1.AnnotationPrimary, "db-1@a")
	y.pass(v1alpha1.RequestPending, "is being moved")
	y.s.Members[1].Server.State = galera.NodeDonor
	y.pass(v1alpha1.RequestPending, "db-1 is not Synced: Donor")
	y.s.Members[1].Server.State = galera.NodeSynced
	y.s.Members[0].Pod.Role, y.s.Members[1].Pod.Role = v1alpha1.RoleReplica, v1alpha1.RolePrimary
	if r := y.pass(v1alpha1.RequestDone, "db-1 is the primary"); r.EndedAt == nil {
		t.Error("no time")
	}
	// It is met once: the primary may move on.
	y.s.Members[1].Pod.Role, y.s.Members[0].Pod.Role = v1alpha1.RoleReplica, v1alpha1.RolePrimary
	y.pass(v1alpha1.RequestDone, "")
	y.ask(v1alpha1.AnnotationPrimary, "db-9@b")
	y.pass(v1alpha1.RequestPending, "db-9 is not a node of this cluster")
	y.now = y.now.Add(promoteTimeout)
	y.pass(v1alpha1.RequestExpired, "could not be met in 10m0s: db-9 is not a node")
	y.ask(v1alpha1.AnnotationPrimary, "db-1@c")
	y.pass(v1alpha1.RequestPending, "")
	y.f.Cluster.Annotations = nil
	y.pass(v1alpha1.RequestCancelled, "removed")
}

func TestRestartRequest(t *testing.T) {
	y := begin(t)
	y.ask(v1alpha1.AnnotationRestart, "all@a")
	if r := y.pass(v1alpha1.RequestPending, "db-0, db-1, db-2"); r.Pending[2].StartedAt == nil {
		t.Error("it is not known which mariadbd is to be ended")
	}
	y.seen["db-2"] = observe.Seen{} // down, or silent: nothing is concluded
	y.pass(v1alpha1.RequestPending, "db-0, db-1, db-2")
	y.starts("db-2")
	y.pass(v1alpha1.RequestPending, "db-0, db-1")
	y.starts("db-2")
	y.starts("db-1")
	y.pass(v1alpha1.RequestPending, "to be restarted: db-0")
	y.f.Cluster.Spec.Hibernate = true
	y.pass(v1alpha1.RequestPending, "hibernate")
	y.f.Cluster.Spec.Hibernate = false
	y.starts("db-0")
	y.pass(v1alpha1.RequestDone, "")
	y.starts("db-0")
	y.pass(v1alpha1.RequestDone, "")

	y.ask(v1alpha1.AnnotationRestart, "db-7@b")
	y.pass(v1alpha1.RequestPending, "db-7 is not a node of this cluster")
	y.pass(v1alpha1.RequestPending, "db-7 is not a node of this cluster")
	y.ask(v1alpha1.AnnotationRestart, "db-2@b")
	y.pass(v1alpha1.RequestPending, "to be restarted: db-2")
	y.s.Members = y.s.Members[:2] // it was removed
	y.pass(v1alpha1.RequestDone, "")
}

// TestRequestsOfACluster that was never started: a status that was lost, or an object that was made anew, knows no
// token.
func TestRequestsOfANewCluster(t *testing.T) {
	y := begin(t)
	y.f.Cluster.Status.ClusterUUID = ""
	y.ask(v1alpha1.AnnotationRestart, "all@a")
	y.pass(v1alpha1.RequestCancelled, "had not been started")
	y.f.Cluster.Status.ClusterUUID = "x"
	y.pass(v1alpha1.RequestCancelled, "")
}

func TestWrongRequests(t *testing.T) {
	for value, want := range map[string]string{"db-1": "token", "@a": "write NODE@TOKEN", "all@a": "write NODE@TOKEN",
		"db_1@a": "write NODE@TOKEN", "db-1@" + strings.Repeat("a", 101): "1 to 100"} {
		y := begin(t)
		y.ask(v1alpha1.AnnotationPrimary, "db-1@first")
		y.pass(v1alpha1.RequestPending, "")
		y.ask(v1alpha1.AnnotationPrimary, value)
		y.pass(v1alpha1.RequestCancelled, "")
		if !strings.Contains(y.refused, want) {
			t.Errorf("%s: %q", value, y.refused)
		}
	}
}

// TestRollout: kubectl rollout restart of the StatefulSet restarts every node once, though its annotation stays, and
// whatever else was asked for.
func TestRollout(t *testing.T) {
	y := begin(t)
	y.f.StatefulSet = &appsv1.StatefulSet{}
	y.ask(v1alpha1.AnnotationRestart, "db-1@t1")
	y.pass(v1alpha1.RequestPending, "db-1")
	y.starts("db-1")
	y.pass(v1alpha1.RequestDone, "restarted")
	y.f.StatefulSet.Spec.Template.Annotations = map[string]string{
		"kubectl.kubernetes.io/restartedAt": "2026-11-26T15:04:05+01:00"}
	last := func() v1alpha1.RequestStatus {
		record, refused := requests(y.f, y.seen, y.s, y.now)
		if refused != nil || len(record) != 2 || record[0].Token != "t1" || record[0].State != v1alpha1.RequestDone {
			t.Fatalf("%+v, %+v", record, refused)
		}
		y.f.Cluster.Status.Requests = record
		return record[1]
	}
	if r := last(); r.Kind != v1alpha1.RequestRollout || r.State != v1alpha1.RequestPending || len(r.Pending) != 3 ||
		r.Token != "2026-11-26T15:04:05+01:00" {
		t.Errorf("%+v", r)
	}
	last() // notes which servers are to be restarted
	for _, name := range nodesOf {
		y.starts(name)
	}
	if r := last(); r.State != v1alpha1.RequestDone || r.Message != "restarted" {
		t.Errorf("%+v", r)
	}
	y.starts("db-0")
	if r := last(); r.State != v1alpha1.RequestDone {
		t.Errorf("again: %+v", r)
	}
}
