package resources

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestSourcePolicy: only the cluster's database pods reach the archive, and no policy is made where none is wanted.
func TestSourcePolicy(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo"}}
	p := SourcePolicy(c)
	in := p.Spec.Ingress
	if len(in) != 2 || len(in[0].From) != 1 || in[0].Ports[0].Port.IntVal != PortClients ||
		in[0].From[0].NamespaceSelector != nil || len(in[1].Ports) != 1 || in[1].Ports[0].Port.IntVal != portServed {
		t.Fatalf("%+v", in)
	}
	from, err := metav1.LabelSelectorAsSelector(in[0].From[0].PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	if !from.Matches(labels.Set(Labels(c))) && !from.Matches(labels.Set(Selector(c))) {
		t.Error("the cluster's nodes are not admitted")
	}
	if from.Matches(labels.Set{v1alpha1.LabelCluster: c.Name, labelComponent: ComponentProxy}) {
		t.Error("proxies are admitted")
	}
	if c.Spec.NetworkPolicy.Enabled = new(false); SourcePolicy(c) != nil {
		t.Error("no policy is wanted")
	}
}
