package observe

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestIdentityOf: a resource that was created again over its running pods keeps the name of their group, also when the
// ConfigMap is gone; a copied ConfigMap is no evidence; and no configuration is published over running nodes that do
// not answer.
func TestIdentityOf(t *testing.T) {
	prod := agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: "one"}
	running := corev1.ContainerStatus{Name: resources.ContainerName,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, tc := range map[string]struct {
		published agentapi.NodeConfig
		recorded  string
		nodes     []string // UIDs, "-" for one that does not answer, "pending" for one that was never started
		want      string
	}{
		"a new cluster": {want: "[]"},
		"created again": {published: prod, nodes: []string{"-"}, want: "one[]"},
		"recorded":      {published: prod, recorded: "two", want: "two[]"},
		"another cluster's name": {published: agentapi.NodeConfig{Cluster: "db", Namespace: "prod", UID: "one"},
			want: "[]"},
		"both are lost, and nodes run":    {nodes: []string{"one", "-", "one"}, want: "one[]"},
		"and do not answer":               {nodes: []string{"-", "pending"}, want: "[shop-0]"},
		"and have no configuration":       {nodes: []string{"", "-"}, want: "[shop-1]"},
		"all have none":                   {nodes: []string{"", ""}, want: "[]"},
		"nodes were never started":        {nodes: []string{"pending", "pending"}, want: "[]"},
		"and are in two clusters' groups": {nodes: []string{"one", "two"}, want: "[]shop-0 (UID one) and shop-1 (UID two)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
			c.Status.Identity = tc.recorded
			f, seen := Facts{Cluster: c, Pods: map[string]*corev1.Pod{}}, map[string]Seen{}
			for i, uid := range tc.nodes {
				node, p := fmt.Sprintf("shop-%d", i), &corev1.Pod{}
				if uid != "pending" {
					p.Status.ContainerStatuses = []corev1.ContainerStatus{running}
				}
				f.Pods[node] = p
				of := agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: uid}
				seen[node] = Seen{Live: uid != "-" && uid != "pending", Report: agentapi.Report{Cluster: of}}
			}
			i := IdentityOf(f, seen, tc.published)
			if got := fmt.Sprint(i.UID, i.Unheard, i.Mixed); got != tc.want || i.Copied != nil {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if i.Known() != (len(i.Unheard) == 0 && i.Mixed == "") {
				t.Errorf("known: %v", i.Known())
			}
		})
	}
}

// TestIdentityOfAnEmptiedCluster: a status that is lost once a cluster was emptied to follow the one that has taken
// over, and before anything was published for that, does not bring the identity of before back.
func TestIdentityOfAnEmptiedCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Facts, *agentapi.NodeConfig)
		new  bool
	}{
		"it was emptied":  {func(*Facts, *agentapi.NodeConfig) {}, true},
		"it has nodes":    {func(f *Facts, _ *agentapi.NodeConfig) { f.StatefulSet = &appsv1.StatefulSet{} }, false},
		"it has pods":     {func(f *Facts, _ *agentapi.NodeConfig) { f.Pods = map[string]*corev1.Pod{"shop-0": {}} }, false},
		"it is published": {func(_ *Facts, n *agentapi.NodeConfig) { n.Refuse = false }, false},
		"it has volumes": {func(f *Facts, _ *agentapi.NodeConfig) {
			f.Claims = map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}
		}, false},
		"another record": {func(f *Facts, _ *agentapi.NodeConfig) {
			f.Cluster.Spec.ReplicaOf.Replaces = "5-bbbbbbbb"
		}, false},
		"it follows none": {func(f *Facts, _ *agentapi.NodeConfig) { f.Cluster.Spec.ReplicaOf = nil }, false},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "one"}}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
		f, published := Facts{Cluster: c}, agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: "one", Refuse: true,
			Refusal: agentapi.Refusal{SupersededBy: `{"id":"4-bbbbbbbb"}`}}
		tc.edit(&f, &published)
		want := "one"
		if tc.new {
			want = v1alpha1.IdentityAfter(c, "4-bbbbbbbb")
		}
		if have := IdentityOf(f, nil, published); have.UID != want || !have.Known() {
			t.Errorf("%s: %+v instead of %s", name, have, want)
		}
		c.Status.Identity = "two"
		if have := IdentityOf(f, nil, published); have.UID != "two" {
			t.Errorf("%s: %+v, and the status has it", name, have)
		}
	}
}

// TestCopied: the objects of a cluster that were copied into another namespace, with the resource, make no cluster that
// begins empty by itself.
func TestCopied(t *testing.T) {
	for name, tc := range map[string]struct {
		document string
		change   func(*v1alpha1.GaleraCluster)
		want     bool
	}{
		"its own":    {`{"cluster":"shop","namespace":"staging","uid":"two"}`, nil, false},
		"unreadable": {"?", nil, false},
		"copied":     {`{"cluster":"shop","namespace":"prod","uid":"one"}`, nil, true},
		"and begins with backups": {`{"cluster":"shop","namespace":"prod","uid":"one"}`,
			func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{} }, false},
		"after it has begun": {`{"cluster":"shop","namespace":"prod","uid":"one"}`,
			func(c *v1alpha1.GaleraCluster) { c.Status.Identity = "two" }, false},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "staging", Name: "shop"}}
		if tc.change != nil {
			tc.change(c)
		}
		i := IdentityOf(
			Facts{Cluster: c, Config: &corev1.ConfigMap{Data: map[string]string{agentapi.ConfigKey: tc.document}}}, nil,
			agentapi.NodeConfig{})
		if (i.Copied != nil) != tc.want || tc.want && (i.Known() || !strings.Contains(i.Message(), "prod/shop (UID one)")) {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// TestCopiedPods: pods that were started with another cluster's ConfigMap have to be deleted with it, and are named.
func TestCopiedPods(t *testing.T) {
	ran := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: resources.ContainerName,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}
	const has, had = "delete the ConfigMap and the pods that were started with it (shop-0, shop-2)", "delete the ConfigMap"
	for want, pods := range map[string]map[string]*corev1.Pod{
		has: {"shop-0": ran, "shop-1": {}, "shop-2": ran},
		had: {"shop-0": {}},
	} {
		i := IdentityOf(Facts{Pods: pods, Cluster: &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: "staging", Name: "shop"}}, Config: &corev1.ConfigMap{Data: map[string]string{
			agentapi.ConfigKey: `{"cluster":"shop","namespace":"prod","uid":"one"}`}}}, nil, agentapi.NodeConfig{})
		if i.Known() || !strings.HasSuffix(i.Message(), want) {
			t.Error(i.Message())
		}
	}
}
