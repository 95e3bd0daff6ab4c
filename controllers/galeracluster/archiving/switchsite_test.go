package archiving

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/deployed"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestEndOf: a node ends somewhere only while its agent answers, and it has nothing left to apply with all others.
func TestEndOf(t *testing.T) {
	good := observe.Seen{Live: true, Report: agentapi.Report{Closed: agentapi.Closed{By: 3, Position: "0-1-7"},
		Server: &agentapi.Server{State: galera.NodeSynced, Component: galera.ComponentPrimary, Size: 3}}}
	with := func(change func(*agentapi.Server)) func(*observe.Seen) {
		return func(s *observe.Seen) { change(s.Report.Server) }
	}
	unsettled := archival.End{Node: "shop-0", By: 3, Position: "0-1-7"}
	for name, tc := range map[string]struct {
		change func(*observe.Seen)
		want   archival.End
	}{
		"it ends":          {func(*observe.Seen) {}, archival.End{Node: "shop-0", By: 3, Position: "0-1-7", Settled: true}},
		"it is silent":     {func(s *observe.Seen) { s.Live = false }, archival.End{Node: "shop-0"}},
		"no server runs":   {func(s *observe.Seen) { s.Report.Server = nil }, archival.End{Node: "shop-0"}},
		"it joins":         {with(func(s *agentapi.Server) { s.State = galera.NodeJoined }), unsettled},
		"it has more":      {with(func(s *agentapi.Server) { s.ReceiveQueue = 1 }), unsettled},
		"one node is away": {with(func(s *agentapi.Server) { s.Size = 2 }), unsettled},
		"it has no quorum": {with(func(s *agentapi.Server) { s.Component = "non-Primary" }), unsettled},
	} {
		seen, server := good, *good.Report.Server
		seen.Report.Server = &server
		tc.change(&seen)
		if have := endOf("shop-0", seen, 3); have != tc.want {
			t.Errorf("%s: %+v", name, have)
		}
	}
}

// agentsOf are the agents of a cluster.
type agentsOf map[string]observe.Seen

func (a agentsOf) Seen(types.NamespacedName) map[string]observe.Seen { return a }

func (a agentsOf) Target(types.NamespacedName, string) (observe.Target, bool) {
	return observe.Target{}, false
}

// TestEnds: nodes that the spec has end somewhere, and others that there are still, but no arbitrator, which has no
// server: it would be waited for until it refuses writes.
func TestEnds(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
	c.Spec.Replicas, c.Spec.Arbitrator.Enabled = 2, true
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchStopping}
	node := observe.Seen{Live: true, Report: agentapi.Report{Closed: agentapi.Closed{By: 3, Position: "0-1-7"},
		Server: &agentapi.Server{State: galera.NodeSynced, Component: galera.ComponentPrimary, Size: 3}}}
	seen := agentsOf{"shop-0": node, resources.ArbitratorName(c): {Live: true}}
	r := Reconciler{Agents: seen, Now: time.Now, Today: time.Now, Late: time.Now}
	end := archival.End{Node: "shop-0", By: 3, Position: "0-1-7", Settled: true}
	if have, _ := r.ends(c); !slices.Equal(have, []archival.End{end, {Node: "shop-1"}}) {
		t.Errorf("one is silent: %+v", have)
	}
	seen["shop-1"], seen["shop-2"] = node, observe.Seen{}
	other := end
	other.Node = "shop-1"
	if have, _ := r.ends(c); !slices.Equal(have, []archival.End{end, other, {Node: "shop-2"}}) {
		t.Errorf("one is to go: %+v", have)
	}
	c.Status.SwitchSite.Phase = v1alpha1.SwitchTaken
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"}
	if have, _ := r.ends(c); len(have) != 3 {
		t.Errorf("it is to follow the one that has taken over: %+v", have)
	}
	c.Status.SwitchSite.Phase = v1alpha1.SwitchTakenBack
	if have, since := r.ends(c); have != nil || !since.IsZero() {
		t.Errorf("no other site is to take over: %+v", have)
	}
}

// TestAlike: nodes end alike since they were seen so for the first time; any change begins that anew.
func TestAlike(t *testing.T) {
	a, key := alike{}, types.NamespacedName{Namespace: "prod", Name: "shop"}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	ends := func(position string) []archival.End {
		return []archival.End{{Node: "shop-0", By: 3, Position: position, Settled: true}}
	}
	for i, tc := range []struct {
		ends       []archival.End
		generation int64
		want       int
	}{{ends("0-1-7"), 1, 0}, {ends("0-1-7"), 1, 0}, {ends("0-1-8"), 1, 2}, {ends("0-1-8"), 1, 2}, {ends("0-1-8"), 2, 4},
		{nil, 2, -1}, {ends("0-1-8"), 2, 6}} {
		since := a.see(key, tc.ends, tc.generation, noon.Add(time.Duration(i)*time.Second))
		if want := noon.Add(time.Duration(tc.want) * time.Second); !since.Equal(want) && (tc.want >= 0 || !since.IsZero()) {
			t.Errorf("%d: %s", i, since)
		}
	}
}

// TestNothingIsBegunWithALostStatus: while nodes refuse writes for an attempt that the status does not have any more,
// none is begun.
func TestNothingIsBegunWithALostStatus(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		published int64
		have      *v1alpha1.SwitchSiteStatus
		want      bool
	}{
		"it is lost":              {7, nil, true},
		"it is an earlier one":    {7, &v1alpha1.SwitchSiteStatus{Number: 6, Phase: v1alpha1.SwitchTakenBack}, true},
		"it was taken back":       {7, &v1alpha1.SwitchSiteStatus{Number: 7, Phase: v1alpha1.SwitchTakenBack}, false},
		"it goes on":              {7, &v1alpha1.SwitchSiteStatus{Number: 6, Phase: v1alpha1.SwitchStopping}, false},
		"nothing was begun":       {0, nil, false},
		"nothing is given at all": {-1, nil, false},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
		c.Spec.SwitchSite, c.Status.SwitchSite = &v1alpha1.SwitchSiteSpec{}, tc.have
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-config"}}
		if tc.published < 0 {
			config.Name = "other"
		}
		text, err := json.Marshal(agentapi.NodeConfig{Namespace: "prod", Refuse: tc.published > 0,
			Refusal: agentapi.Refusal{Switching: tc.published}})
		if err != nil {
			t.Fatal(err)
		}
		config.Data = map[string]string{agentapi.ConfigKey: string(text)}
		r := Reconciler{Live: fake.NewClientBuilder().WithScheme(scheme).WithObjects(config).Build()}
		if lost, err := r.lost(t.Context(), c); err != nil || lost != tc.want {
			t.Errorf("%s: %v, %v", name, lost, err)
		}
	}
}

// TestHurry: the archiver is to archive at once what nodes still write, and not as long as a token is out.
func TestHurry(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-archiver-7d4-x",
		Labels: map[string]string{"pod-template-hash": "7d4"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet",
			Name: "shop-archiver-7d4", Controller: new(true)}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.7"}}
	maps.Copy(pod.Labels, job.ArchiverLabels(c))
	for phase, want := range map[string]string{"": "", v1alpha1.SwitchStopping: task.AskHurry, v1alpha1.SwitchOffered: "",
		v1alpha1.SwitchWithdrawing: "", v1alpha1.SwitchTaken: ""} {
		if c.Status.SwitchSite = nil; phase != "" {
			c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: phase}
		}
		have := "nothing"
		r := Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build(),
			Calls: &calls.Calls[string, deployed.Question, task.Archived]{Do: calls.One(func(_ context.Context, _ string,
				q deployed.Question) (task.Archived, error) {
				have = q.Asks
				return task.Archived{}, nil
			})}}
		if f, err := r.ask(t.Context(), archival.Facts{Cluster: c}, nil); err != nil || f.Archived == nil || have != want {
			t.Errorf("%q: asks %q: %+v, %v", phase, have, f, err)
		}
	}
}

// TestNothingIsArchivedOfARejoinedCluster: the archiver goes once the cluster has been emptied to follow another one:
// its nodes log what they follow. Another cluster keeps it while its status is lost.
func TestNothingIsArchivedOfARejoinedCluster(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for phase, gone := range map[string]bool{"": false, v1alpha1.ReseedChecking: false, v1alpha1.ReseedEmptying: false,
		v1alpha1.ReseedCopying: true, v1alpha1.ReseedCompleted: true} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		if phase != "" {
			c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: phase}
		}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: resources.ArchiverName(c),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind(
				"GaleraCluster"))}}}
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, d).Build()
		r := Reconciler{Client: k, Live: k, Calls: &calls.Calls[string, deployed.Question, task.Archived]{},
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}, Now: time.Now,
			Today: time.Now, Late: time.Now}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
			t.Fatal(err)
		}
		err := k.Get(t.Context(), client.ObjectKeyFromObject(d), d)
		if client.IgnoreNotFound(err) != nil || (err != nil) != gone {
			t.Errorf("%q: %v", phase, err)
		}
	}
}

// TestTheEndOfALeaseIsTriedAgain: where the pods could not be removed that renew the lease of a cluster which has been
// emptied, they are in the next pass, though the archiver is gone by then.
func TestTheEndOfALeaseIsTriedAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: true}}
	c.Status.Reseed = &v1alpha1.ReseedStatus{Request: "4-bbbbbbbb", Phase: v1alpha1.ReseedCopying}
	of := func(name string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind(
				"GaleraCluster"))}}}
	}
	archiver, renews := of(resources.ArchiverName(c)), of(resources.LeaseName(c))
	fails := true
	build := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, archiver, renews)
	k := build.WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, k client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if fails && o.GetName() == renews.Name {
				return errors.New("unavailable")
			}
			return k.Delete(ctx, o, opts...)
		}}).Build()
	r := Reconciler{Client: k, Live: k, Calls: &calls.Calls[string, deployed.Question, task.Archived]{},
		Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}, Now: time.Now,
		Today: time.Now, Late: time.Now}
	for _, fails = range []bool{true, false} {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		if (err != nil) != fails {
			t.Errorf("fails: %v: %v", fails, err)
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(archiver), archiver); !apierrors.IsNotFound(err) {
			t.Errorf("the archiver is kept: %v", err)
		}
	}
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(renews), renews); !apierrors.IsNotFound(err) {
		t.Errorf("the lease goes on: %v", err)
	}
}

// TestEndsAreForgotten: where nodes end is not known any more once there is no archiver: a cluster is emptied by it.
func TestEndsAreForgotten(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	const failing = "the store cannot be read"
	for name, edit := range map[string]func(*v1alpha1.GaleraCluster){
		"it is off":          func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = nil },
		"it is to hibernate": func(c *v1alpha1.GaleraCluster) { c.Spec.Hibernate = true },
		failing:              func(*v1alpha1.GaleraCluster) {},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		c.Status.ClusterUUID, c.Status.Backup = "u", &v1alpha1.ArchiveStatus{Session: "s"}
		c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 7, Phase: v1alpha1.SwitchTaken, Ends: "0-1-7",
			EndsGeneration: 1}
		edit(c)
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).WithInterceptorFuncs(
			interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("no")
			}, Get: func(ctx context.Context, k client.WithWatch, key client.ObjectKey, o client.Object,
				opts ...client.GetOption) error {
				if _, is := o.(*v1alpha1.GaleraBackupStore); is {
					return errors.New("no")
				}
				return k.Get(ctx, key, o, opts...)
			}}).Build()
		r := Reconciler{Client: k, Live: k, Calls: &calls.Calls[string, deployed.Question, task.Archived]{},
			Aligning: &calls.Calls[observe.Target, agentapi.Alignment, agentapi.AlignmentResult]{}, Now: time.Now,
			Today: time.Now, Late: time.Now}
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		if (err != nil) != (name == failing) {
			t.Fatal(name, err)
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil || c.Status.SwitchSite.Ends != "" {
			t.Errorf("%s: %v, %+v", name, err, c.Status.SwitchSite)
		}
	}
}
