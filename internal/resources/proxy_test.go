package resources

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

func pool() *v1alpha1.GaleraProxy {
	p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: shop().Namespace, UID: "proxy-uid"}}
	p.Spec = v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: shop().Name}, Replicas: 2,
		Image: "proxysql/proxysql:2.7.1", Mode: v1alpha1.ProxyReadWriteSplit,
		TLS: v1alpha1.ProxyTLSSpec{DNSNames: []string{"db.example.org"}}}
	return p
}

// TestProxyGolden shows in a review what a change of code does to the objects of a proxy.
func TestProxyGolden(t *testing.T) {
	var got bytes.Buffer
	for _, o := range append(ProxyObjects(pool(), everything(), testOptions, "0a0b", "0a0b,0c0d"),
		ProxyState(pool(), everything(), []byte("{}"))) {
		doc, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("---\n")
		got.Write(doc)
	}
	file := filepath.Join("testdata", "proxy.yaml")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs: %s", file, firstDifference(string(want), got.String()))
	}
}

// TestProxyNamesAreComplete: an object of another owner in the place of any that a proxy has is found before one is
// made.
func TestProxyNamesAreComplete(t *testing.T) {
	var checked []string
	for _, o := range ProxyNames(pool()) {
		checked = append(checked, kindOf(o)+"/"+o.GetName())
	}
	for _, o := range append(ProxyObjects(pool(), shop(), testOptions, "", ""), ProxyState(pool(), shop(), nil)) {
		if name := kindOf(o) + "/" + o.GetName(); !slices.Contains(checked, name) {
			t.Errorf("%s is made without a check of what is there: %q", name, checked)
		}
	}
}

// TestProxyReachesTheNodes: where a cluster names its clients, the pods of its proxies are admitted as well, and
// clients of the proxy are those of the cluster.
func TestProxyReachesTheNodes(t *testing.T) {
	c := shop()
	admitted := func(p *networkingv1.NetworkPolicy, pod map[string]string) bool {
		for _, rule := range p.Spec.Ingress {
			if !slices.ContainsFunc(rule.Ports, func(q networkingv1.NetworkPolicyPort) bool {
				return q.Port.IntVal == PortClients
			}) {
				continue
			}
			for _, peer := range rule.From {
				s, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
				if err != nil {
					t.Fatal(err)
				}
				if s.Matches(labels.Set(pod)) {
					return true
				}
			}
		}
		return false
	}
	client := map[string]string{"app": "web"}
	c.Spec.NetworkPolicy.ClientsFrom = []networkingv1.NetworkPolicyPeer{
		{PodSelector: &metav1.LabelSelector{MatchLabels: client}}}
	nodes, own := NetworkPolicy(c, testOptions), proxyPolicy(pool(), c, testOptions)
	pod := proxyDeployment(pool(), c, testOptions, "", "").Spec.Template.Labels
	if !admitted(nodes, pod) || !admitted(nodes, client) || !admitted(own, client) {
		t.Errorf("%+v %+v", nodes.Spec.Ingress, own.Spec.Ingress)
	}
	if stranger := (map[string]string{"app": "other"}); admitted(nodes, stranger) || admitted(own, stranger) {
		t.Error("a pod that the cluster does not name is admitted")
	}
	if !labels.SelectorFromSet(proxyPolicy(pool(), c, testOptions).Spec.PodSelector.MatchLabels).Matches(labels.Set(pod)) {
		t.Error("the policy does not select the proxy's pods")
	}
	if labels.SelectorFromSet(Selector(c)).Matches(labels.Set(pod)) {
		t.Error("the cluster's Services lead to the proxy's pods")
	}
}

// TestProxyCertificateIsForAServer: with a certificate of both authentications its holder could join the group.
func TestProxyCertificateIsForAServer(t *testing.T) {
	for _, u := range proxyCertificate(pool(), shop(), testOptions).Spec.Usages {
		if u == "client auth" {
			t.Error("the certificate is one for clients, too")
		}
	}
	for _, v := range proxyPod(pool(), shop(), testOptions).Volumes {
		if s := v.Secret; s != nil && s.SecretName != "pool-proxy" && s.SecretName != "pool-proxy-issued" {
			t.Errorf("a proxy's pod has the Secret %s", s.SecretName)
		}
	}
	if ctx := proxyMain(pool(), testOptions).SecurityContext; !*ctx.ReadOnlyRootFilesystem ||
		*ctx.AllowPrivilegeEscalation {
		t.Errorf("%+v", ctx)
	}
}

func kindOf(o any) string { return fmt.Sprintf("%T", o) }
