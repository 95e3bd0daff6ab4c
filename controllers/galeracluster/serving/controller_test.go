package serving

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// world is a cluster that follows an archive, with a checked store, and what reconciles it.
type world struct {
	*testing.T
	Reconciler
	c   *v1alpha1.GaleraCluster
	s   *v1alpha1.GaleraBackupStore
	now time.Time
	// served is what the program answers, nil for an error.
	served *task.Served
	// asks is what it was asked last.
	asks string
}

func newWorld(t *testing.T) *world {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{T: t, now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}
	w.c = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "shop", UID: "a54080f9-1111"}}
	w.c.Spec.Replicas = 3
	w.c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		Cluster:           v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "identity", Key: "identity"}}
	w.c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring, Directory: "prod/shop/b65191a0",
		Replay: &v1alpha1.ReplayStatus{Chain: 7, To: 9, Sum: "5f1c"}}
	w.c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Store: "offsite"}
	w.s = &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "offsite", Generation: 1},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups",
			Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}}}
	meta.SetStatusCondition(&w.s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReachable, ObservedGeneration: 1})
	identity := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "identity"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "shop-source-7d4-x",
		Labels: map[string]string{"pod-template-hash": "7d4"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet",
			Name: "shop-source-7d4", Controller: new(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.7"}}
	for k, v := range job.SourceLabels(w.c) {
		pod.Labels[k] = v
	}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(w.c, w.s, identity, pod).WithStatusSubresource(w.c).
		WithTypeConverters(managedfields.NewDeducedTypeConverter()).Build()
	w.Reconciler = Reconciler{Client: k, Live: k, Objects: &apply.Objects{Client: k, Live: k},
		Jobs: job.Options{Image: "operator"}, Now: func() time.Time { return w.now },
		Calls: &calls.Calls[string, deployed.Question, task.Served]{Do: calls.One(func(_ context.Context, _ string,
			q deployed.Question) (task.Served, error) {
			w.asks = q.Asks
			if w.served == nil {
				return task.Served{}, errors.New("connection refused")
			}
			return *w.served, nil
		})}}
	return w
}

// pass reconciles until two passes have changed nothing, and reads the cluster: one may not have waited for the answer.
func (w *world) pass() *v1alpha1.FollowedArchive {
	w.Helper()
	w.archive()
	same := 0
	for range 100 {
		before := w.c.Status.DeepCopy()
		if _, err := w.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.c)}); err != nil {
			w.Fatal(err)
		}
		after := w.archive()
		if same++; !equality.Semantic.DeepEqual(*before, w.c.Status) {
			same = 0
		}
		if same == 2 {
			return after
		}
	}
	w.Fatal("each of 100 passes has changed something")
	return nil
}

func (w *world) archive() *v1alpha1.FollowedArchive {
	w.Helper()
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(w.c), w.c); err != nil {
		w.Fatal(err)
	}
	return w.c.Status.Replication.Archive
}

// there reports whether the cluster's object of a kind is there, and reads it.
func (w *world) there(o client.Object) bool {
	w.Helper()
	err := w.Get(w.Context(), client.ObjectKey{Namespace: "site", Name: "shop-source"}, o)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// TestServed: the archive is served with the directory and the chain that the cluster began with, and reported. What is
// known stays while there is no answer. All of it goes when the cluster is independent.
func TestServed(t *testing.T) {
	w := newWorld(t)
	through := w.now.Add(-7 * time.Second)
	w.served = &task.Served{GTID: "0-1-9", Through: through, Observed: w.now, Chain: 7}
	if a := w.pass(); a == nil || a.GTID != "0-1-9" || !a.Through.Time.Equal(through) || a.Message != "" ||
		!a.ObservedAt.Time.Equal(w.now.Truncate(time.Second)) {
		t.Errorf("%+v", a)
	}
	d := &appsv1.Deployment{}
	if !w.there(d) || !w.there(&corev1.Service{}) || !w.there(&networkingv1.NetworkPolicy{}) ||
		!w.there(&corev1.Secret{}) {
		t.Fatal("not all of it is there")
	}
	env := d.Spec.Template.Spec.Containers[0].Env[0].Value
	if !strings.Contains(env, `"serve":{"dir":"prod/shop/b65191a0","chain":7,"to":9,"sum":"5f1c"}`) {
		t.Error(env)
	}
	w.served = nil
	if a := w.pass(); a.GTID != "0-1-9" || !strings.Contains(a.Message, "does not answer") {
		t.Errorf("it does not answer: %+v", a)
	}
	w.served = &task.Served{Problem: "the store does not answer"}
	if a := w.pass(); a.GTID != "0-1-9" || a.Message != "the store does not answer" {
		t.Errorf("its store does not answer: %+v", a)
	}
	w.served = &task.Served{GTID: "0-1-5", Through: through.Add(time.Minute), Chain: 9}
	if a := w.pass(); a.GTID != "0-1-9" || !a.Through.Time.Equal(through) || !strings.Contains(a.Message, "begun anew") {
		t.Errorf("another chain: %+v", a)
	}
	continued := &task.Served{GTID: "0-1-12", Through: through.Add(time.Minute), Chain: 9, Continues: 7, Begin: "0-1-10"}
	for applied, want := range map[string]int64{"": 7, "0-1-9": 7, "0-2-11": 7, "4-1-11": 7, "4-1-2,0-1-10": 9} {
		w.archive()
		w.c.Status.Replication.Applied, w.c.Status.Restore.Replay.Chain = applied, 7
		if err := w.Status().Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
		w.served = continued
		if a := w.pass(); a.GTID != "0-1-12" || a.Message != "" || w.c.Status.Restore.Replay.Chain != want {
			t.Errorf("a chain that goes on at 0-1-10, applied %q: %+v, %+v", applied, a, w.c.Status.Restore.Replay)
		}
	}
	w.archive()
	w.c.Status.Replication.Role = v1alpha1.RoleIndependent
	if err := w.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	if w.pass(); w.there(d) || w.there(&corev1.Service{}) || w.there(&networkingv1.NetworkPolicy{}) ||
		w.there(&corev1.Secret{}) {
		t.Error("something is left")
	}
}

// TestStreamed: what is streamed is in the task, and what is known of it in the status. A line of history is recorded
// once, in the place of the one that the program had.
func TestStreamed(t *testing.T) {
	w := newWorld(t)
	update := func(edit func(*v1alpha1.GaleraCluster)) {
		t.Helper()
		w.archive()
		edit(w.c)
		if err := w.Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
	}
	update(func(c *v1alpha1.GaleraCluster) {
		r := c.Spec.ReplicaOf
		r.Endpoints, r.CredentialsSecretRef = []string{"db.test:3306"}, &v1alpha1.LocalName{Name: "account"}
		r.TLS = &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}, Verify: v1alpha1.VerifyIdentity}
	})
	task := func() string {
		t.Helper()
		d := &appsv1.Deployment{}
		if !w.there(d) {
			t.Fatal("no Deployment")
		}
		return d.Spec.Template.Spec.Containers[0].Env[0].Value
	}
	answer := func(of task0) *v1alpha1.FollowedStream {
		t.Helper()
		w.served = &of
		w.pass()
		w.pass()
		return w.c.Status.Replication.Stream
	}
	const stream = `"stream":{"endpoints":["db.test:3306"]}`
	archive := task0{GTID: "0-1-9", Through: w.now, Observed: w.now, Chain: 7}
	first := archive
	first.Line, first.Stream = "h/a", &streamed{}
	if s := answer(first); s == nil || s.Connected || w.c.Status.Restore.Replay.Line != "h/a" ||
		!strings.Contains(task(), `"line":"h/a",`+stream) {
		t.Errorf("%+v, %+v, %s", s, w.c.Status.Restore.Replay, task())
	}
	late := first // by a program that does not know yet
	late.Line = "h/z"
	if answer(late); w.c.Status.Restore.Replay.Line != "h/a" {
		t.Errorf("recorded in the place of another one: %+v", w.c.Status.Restore.Replay)
	}
	runs := archive
	runs.LineBefore, runs.Stream = "h/a", &streamed{Endpoint: "db.test:3306", Connected: true}
	if s := answer(runs); s == nil || !s.Connected || s.Endpoint != "db.test:3306" || s.Error != "" ||
		w.c.Status.Restore.Replay.Line != "h/a" {
		t.Errorf("%+v, %+v", s, w.c.Status.Restore.Replay)
	}
	broken := runs
	broken.Stream = &streamed{Endpoint: "db.test:3306", Error: strings.Repeat("é", 1000)}
	w.c.Status.Replication.Stream.SecondsBehind = new(int64(3))
	if err := w.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	s := answer(broken)
	if s == nil || s.Connected || s.SecondsBehind != nil || len(s.Error) > 1000 || !utf8.ValidString(s.Error) {
		t.Errorf("%+v", s)
	}
	answer(runs)
	w.served = nil
	if w.pass(); w.c.Status.Replication.Stream.Connected || w.c.Status.Replication.Stream.Error == "" {
		t.Errorf("no answer: %+v", w.c.Status.Replication.Stream)
	}
	update(func(c *v1alpha1.GaleraCluster) {
		c.Spec.ReplicaOf.Endpoints, c.Spec.ReplicaOf.CredentialsSecretRef, c.Spec.ReplicaOf.TLS = nil, nil, nil
	})
	if s := answer(archive); s != nil || strings.Contains(task(), "stream") || !strings.Contains(task(), `"line":"h/a"`) {
		t.Errorf("the archive alone: %+v, %s", s, task())
	}
}

type (
	task0    = task.Served
	streamed = task.Streamed
)

// TestNotServed: what is missing is named, and no pod is made without it, or of a chain that is not known.
func TestNotServed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world) client.Object
		says   string
	}{
		"a store that was not checked": {func(w *world) client.Object {
			w.s.Generation, w.s.Spec.S3.Endpoint = 2, "https://elsewhere.test"
			return w.s
		}, "check of the store"},
		"another store": {func(w *world) client.Object {
			w.c.Spec.ReplicaOf.StoreRef.Name = "other"
			return w.c
		}, "no GaleraBackupStore other"},
		"no private key": {func(w *world) client.Object {
			w.c.Spec.ReplicaOf.IdentitySecretRef.Name = "lost"
			return w.c
		}, "spec.replicaOf.identitySecretRef"},
		"another Secret of the name": {func(w *world) client.Object {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "shop-source"}}
			if err := w.Create(w.Context(), s); err != nil {
				w.Fatal(err)
			}
			return s
		}, `the Secret "shop-source" exists`},
	} {
		w := newWorld(t)
		w.served = &task.Served{}
		if err := w.Update(t.Context(), tc.change(w)); err != nil {
			t.Fatal(err)
		}
		if a := w.pass(); a == nil || !strings.Contains(a.Message, tc.says) || w.there(&appsv1.Deployment{}) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, of := range []*v1alpha1.RestoreStatus{nil, {Phase: v1alpha1.RestoreCompleted,
		Replay: &v1alpha1.ReplayStatus{}}} {
		w := newWorld(t)
		w.c.Status.Restore, w.c.Status.ClusterUUID = of, "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
		if err := w.Status().Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
		if a := w.pass(); a == nil || !strings.Contains(a.Message, "status.restore") || w.there(&appsv1.Deployment{}) {
			t.Errorf("an unknown chain: %+v", a)
		}
		w.c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(w.c.UID)}
		if err := w.Update(t.Context(), w.c); err != nil {
			t.Fatal(err)
		}
		if a := w.pass(); !strings.Contains(a.Message, "keep it: it has data of its own") || strings.Contains(a.Message,
			"create") {
			t.Errorf("an unknown chain of a cluster that may have taken over: %+v", a)
		}
	}
}

// TestPair: the password stays, and so does the pair until a third of its time is left.
func TestPair(t *testing.T) {
	w := newWorld(t)
	read := func() (cert, password string) {
		t.Helper()
		w.pass()
		s := &corev1.Secret{}
		if !w.there(s) || string(s.Data[task.CA]) != string(s.Data[corev1.TLSCertKey]) {
			t.Fatal("no Secret, or another CA")
		}
		return string(s.Data[corev1.TLSCertKey]), string(s.Data[task.SourcePassword])
	}
	cert, password := read()
	w.now = w.now.Add(pairTime - renewBefore - time.Hour)
	if c, p := read(); c != cert || p != password || p == "" {
		t.Error("they have changed")
	}
	w.now = w.now.Add(2 * time.Hour)
	if c, p := read(); c == cert || p != password {
		t.Error("the pair was not renewed, or the password was")
	}
}

// TestUnnamed: a cluster that may have data of its own is not to be thrown away.
func TestUnnamed(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.GaleraClusterSpec
		says string
	}{
		"follows": {v1alpha1.GaleraClusterSpec{ReplicaOf: &v1alpha1.ReplicaOf{}}, "create it anew, or have it take over"},
		"was to be emptied": {v1alpha1.GaleraClusterSpec{ReplicaOf: &v1alpha1.ReplicaOf{Replaces: "1-bbbbbbbb"}},
			"data of before 1-bbbbbbbb took over"},
		"is to take over": {v1alpha1.GaleraClusterSpec{ReplicaOf: &v1alpha1.ReplicaOf{Replaces: "1-bbbbbbbb"},
			Cutover: &v1alpha1.CutoverSpec{}}, "keep it: it has data of its own"},
	} {
		of := &v1alpha1.GaleraCluster{Spec: c.spec}
		of.Status.ClusterUUID = "6b4c1a52-0000-11f0-a000-000000000001"
		if got := unnamed(of); !strings.Contains(got, c.says) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
