package galeracluster

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestLostSwitchSiteIsWrittenDown: that nodes refuse writes for another site, or since another cluster has taken over,
// although the status does not have it any more, is written down before nodes are given anything: other controllers
// begin anew otherwise.
func TestLostSwitchSiteIsWrittenDown(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(agentapi.NodeConfig{Namespace: "prod", Cluster: "shop", UID: "u", Revision: "r",
		Refuse: true, Refusal: agentapi.Refusal{Switching: 7, SupersededBy: `{"id":"4-bbbbbbbb","uid":"bbbbbbbb-1"}`}})
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-config"},
		Data: map[string]string{agentapi.ConfigKey: string(text)}}
	for _, paused := range []bool{false, true} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "u"}}
		if paused {
			c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		}
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build()
		r := Reconciler{Client: k, Agents: &observe.Agents{}}
		have := &v1alpha1.GaleraCluster{}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), have); err != nil {
			t.Fatal(err)
		}
		f := observe.Facts{Cluster: have, Config: config,
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		if err := r.restore(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if !f.Cluster.Switching() || f.Cluster.SwitchNumber() != 7 || !f.Cluster.Superseded() {
			t.Errorf("%+v, %+v", f.Cluster.Status.SwitchSite, f.Cluster.Status.Superseded)
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), have); err != nil {
			t.Fatal(err)
		}
		if have.Switching() == paused || have.Superseded() == paused {
			t.Errorf("paused: %v, written: %+v, %+v", paused, have.Status.SwitchSite, have.Status.Superseded)
		}
	}
}

// TestLostLeaseIsWrittenDown: the same of nodes that accept writes by the lease only, also of a cluster that has taken
// over from another one and still names that.
func TestLostLeaseIsWrittenDown(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, tookOver := range []bool{false, true} {
		n := agentapi.NodeConfig{Namespace: "prod", Cluster: "shop", UID: "u", Revision: "r", Lease: true}
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "u"}}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: true}}
		if tookOver {
			c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "u"}
			n.Follow = &agentapi.Follow{Until: "0-1-9"}
		}
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build()
		have := &v1alpha1.GaleraCluster{}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), have); err != nil {
			t.Fatal(err)
		}
		f := observe.Facts{Cluster: have, Config: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod",
			Name: "shop-config"}, Data: map[string]string{agentapi.ConfigKey: string(text)}},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		if err := (&Reconciler{Client: k, Agents: &observe.Agents{}}).restore(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if !f.Cluster.NeedsWriteLease() {
			t.Errorf("took over %v: nodes need no lease in this pass", tookOver)
		}
		if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), have); err != nil {
			t.Fatal(err)
		}
		if have.Status.WriteLease != v1alpha1.WriteLeaseStarting || have.Follows() {
			t.Errorf("took over %v: written: %q, %+v", tookOver, have.Status.WriteLease, have.Status.Replication)
		}
	}
}
