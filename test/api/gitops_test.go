package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// repository is the example that docs/gitops.md describes.
var repository = filepath.Join("..", "..", "config", "samples", "gitops")

// built are the objects of a folder with a kustomization.
func built(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	must(t, err)
	var out []*unstructured.Unstructured
	for _, r := range all.Resources() {
		text, err := r.AsYAML()
		must(t, err)
		u := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(text, &u.Object))
		out = append(out, u)
	}
	return out
}

// tool is Flux or Argo CD: it applies a repository by server-side apply under its own name, and puts right what others
// have changed.
type tool struct {
	w    *world
	name string
	mu   sync.Mutex
	repo []*unstructured.Unstructured
}

// apply makes everything as the repository has it.
func (g *tool) apply(o ...client.ApplyOption) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range g.repo {
		if err := kube.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()),
			append(o, client.FieldOwner(g.name), client.ForceOwnership)...); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}

// commit changes the cluster in the repository, and applies it.
func (g *tool) commit(change func(spec map[string]any)) {
	g.w.t.Helper()
	g.mu.Lock()
	for _, u := range g.repo {
		if u.GetKind() == "GaleraCluster" {
			change(u.Object["spec"].(map[string]any))
		}
	}
	g.mu.Unlock()
	must(g.w.t, g.apply())
}

// diff is what an apply would change now, "" for nothing: what kubectl diff --server-side, Flux and Argo CD's
// ServerSideDiff see.
func (g *tool) diff() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out strings.Builder
	for _, u := range g.repo {
		live, dry := u.DeepCopy(), u.DeepCopy()
		g.w.Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(u), live)).To(Succeed())
		g.w.Expect(kube.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(dry), client.FieldOwner(g.name),
			client.ForceOwnership, client.DryRunAll)).To(Succeed())
		if is, would := comparison(live), comparison(dry); is != would {
			fmt.Fprintf(&out, "%s %s:\n%s\nwould be\n%s\n", u.GetKind(), u.GetName(), is, would)
		}
	}
	return out.String()
}

// comparison leaves out what is the API server's own, and the status, which goes on meanwhile.
func comparison(u *unstructured.Unstructured) string {
	o := maps.Clone(u.Object)
	delete(o, "status")
	m := maps.Clone(o["metadata"].(map[string]any))
	delete(m, "managedFields")
	delete(m, "resourceVersion")
	o["metadata"] = m
	text, _ := json.Marshal(o)
	return string(text)
}

// revertEverySecond applies until the test has ended, as a tool does that sets drift back.
func (g *tool) revertEverySecond() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for {
			if err := g.apply(); err != nil {
				done <- err
				return
			}
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-time.After(time.Second):
			}
		}
	}()
	g.w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			g.w.t.Errorf("%s could not apply: %v", g.name, err)
		}
	})
}

// ownersOfSpec are the managers of fields of the spec.
func (g *tool) ownersOfSpec() (out []string) {
	c := &v1alpha1.GaleraCluster{}
	g.w.Expect(g.w.get(c, "shop")).To(Succeed())
	for _, m := range c.ManagedFields {
		if m.FieldsV1 != nil && strings.Contains(string(m.FieldsV1.GetRawBytes()), `"f:spec"`) {
			out = append(out, m.Manager)
		}
	}
	return out
}

// deploy applies the example repository as a tool of that name, and brings the cluster up.
func deploy(t *testing.T, name string) *tool {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents(), ca: pkitest.NewCA("private")}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	g := &tool{w: w, name: name, repo: built(t, filepath.Join(repository, "production"))}
	namespace := name
	for _, u := range g.repo { // a namespace of its own for each test
		if u.GetKind() == "Namespace" {
			u.SetName(namespace)
		} else {
			u.SetNamespace(namespace)
		}
	}
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	must(t, g.apply())
	w.Expect(g.diff()).To(BeEmpty(), "right after the first apply, before any operator has seen it")
	w.stop = startOperator(t, namespace, w.agents)
	w.bringUp()
	w.live()
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	return g
}

// live makes the fake agents do by themselves what real ones do: load what is published, report what they run with,
// stop and start.
func (w *world) live() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			w.liveOn()
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
}

func (w *world) liveOn() {
	ctx := context.Background()
	cm, sts, tls := &corev1.ConfigMap{}, &appsv1.StatefulSet{}, &corev1.Secret{}
	if w.get(cm, "shop-config") != nil || w.get(sts, "shop") != nil || w.get(tls, "shop-tls") != nil {
		return
	}
	var config agentapi.NodeConfig
	must(w.t, json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &config))
	c := &v1alpha1.GaleraCluster{}
	if kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c) != nil || c.Status.TLS == nil {
		return
	}
	size := 0
	for i := range 3 {
		w.agents.change(fmt.Sprintf("shop-%d", i), func(r *agentapi.Report) {
			if r.Order == nil || r.Order.Kind != agentapi.OrderStop {
				size++
			}
		})
	}
	for i := range 3 {
		w.agents.change(fmt.Sprintf("shop-%d", i), func(r *agentapi.Report) { liveAs(r, config, c.Status.TLS.Serial, size) })
	}
}

// liveAs is the next state of an agent.
func liveAs(r *agentapi.Report, config agentapi.NodeConfig, serial string, size int) {
	r.Image.ProviderVersion = "26.4.23(r0)"
	if o := r.Order; o != nil && o.Kind == agentapi.OrderStop {
		r.Server, r.Phase, r.Config.Socket = nil, galera.PhaseStopped, ""
		return
	}
	if r.Server == nil {
		serve(r)
	}
	changed := r.Config.Loaded != config.Revision && r.Config.Loaded != ""
	server := *r.Server
	server.Size, r.Server = size, &server
	r.Config.Loaded = config.Revision
	switch {
	case r.Config.Socket == "", !r.Config.RestartNeeded && !changed && r.Config.Socket != config.TLS.Replication:
		r.Config.Socket = config.TLS.Replication // it was started anew
	case r.Config.Socket != config.TLS.Replication:
		r.Config.RestartNeeded = true
	}
	proved(r, serial, "shop-0", "shop-1", "shop-2")
	if config.TLS.Replication != galera.SocketStrict {
		fact := r.TLS.Channels[agentapi.ChannelReplication]
		fact.Observed, fact.PlaintextRefused = agentapi.ObservedMixed, false
		r.TLS.Channels[agentapi.ChannelReplication] = fact
	}
}

// TestGitOps: Flux's and Argo CD's way of applying the example repository. There is never a difference: not right after
// the apply, not after any operation, and not while a tool sets drift back every second during a promotion, a restart,
// a scaling, a switch, a benchmark and a hibernation.
func TestGitOps(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kustomize-controller", "argocd-controller"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operateByGit(deploy(t, name))
		})
	}
}

func operateByGit(g *tool) {
	w := g.w
	ready := func(what string) {
		w.t.Helper()
		w.Eventually(w.condition("Ready"), "60s").Should(HavePrefix("True"), what+": "+w.message("Ready"))
		w.Expect(g.diff()).To(BeEmpty(), what)
		w.Expect(g.ownersOfSpec()).To(HaveEach(g.name), what+": no other writes to the spec")
	}
	ready("created")
	g.revertEverySecond()

	// A user's requests are annotations of their own, which no tool sets back.
	_, notes, err := w.galera("promote", "shop", "shop-1", "--wait", "--timeout", "60s")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	_, notes, err = w.galera("restart", "shop", "--wait", "--timeout", "60s")
	w.Expect(err).NotTo(HaveOccurred(), notes)
	ready("promoted and restarted")

	g.commit(func(spec map[string]any) {
		spec["mariadb"] = map[string]any{"config": map[string]any{"max_connections": int64(99)}}
	})
	w.Eventually(func() v1alpha1.Setting { return w.spec().MariaDB.Config["max_connections"] }).
		Should(Equal(v1alpha1.Setting{Text: "99", Number: true}))
	ready("configured")

	g.commit(func(spec map[string]any) { spec["tls"] = map[string]any{"replication": "Disabled"} })
	w.Eventually(func() string { return w.status().TLS.Replication }, "60s").Should(Equal("Plain"))
	ready("switched off")
	g.commit(func(spec map[string]any) { delete(spec, "tls") })
	w.Eventually(func() string { return w.status().TLS.Replication }, "60s").Should(Equal("Strict"))
	ready("switched on again, by leaving the field out")

	g.commit(func(spec map[string]any) { spec["replicas"] = int64(1) })
	w.Eventually(w.pods, "60s").Should(BeEquivalentTo(1))
	ready("scaled")

	g.commit(func(spec map[string]any) { spec["hibernate"] = true })
	w.Eventually(w.condition("Ready"), "60s").Should(Equal("True Hibernated"))
	ready("hibernated")

	w.Expect(w.agents.bootstraps()).To(Equal([]string{"Initialise shop-0"}))
	g.commit(func(spec map[string]any) { delete(spec, "hibernate") })
	ready("resumed")

	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	w.Expect(c.Generation).To(BeEquivalentTo(7), "the spec has changed by the six commits, and by nothing else")
}

func (w *world) spec() v1alpha1.GaleraClusterSpec {
	c := &v1alpha1.GaleraCluster{}
	w.Expect(w.get(c, "shop")).To(Succeed())
	return c.Spec
}
