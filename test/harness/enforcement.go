package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/galera-operator/galera-operator/test/harness/netpolicy"
)

// renewEvery is how often rules are put onto nodes that should have them: a node that was started again has lost them.
const renewEvery = 10 * time.Second

// Enforcement makes the nodes do what the cluster's NetworkPolicies say, as a network plug-in does: also for pods,
// labels and policies that come, change and go.
type Enforcement struct {
	kube    *Kube
	factory informers.SharedInformerFactory
	changed chan struct{}
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	applied map[string]string // by node
	failed  error
}

// EnforcePolicies begins to enforce all NetworkPolicies on all nodes, and returns when they are in force.
func EnforcePolicies(ctx context.Context, k *Kube) (*Enforcement, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &Enforcement{kube: k, factory: informers.NewSharedInformerFactory(k.Clientset, 0),
		changed: make(chan struct{}, 1),
		cancel:  cancel, applied: map[string]string{}}
	notice := func(any) {
		select {
		case e.changed <- struct{}{}:
		default: // it is known already
		}
	}
	for _, informer := range []cache.SharedIndexInformer{
		e.factory.Core().V1().Pods().Informer(), e.factory.Core().V1().Namespaces().Informer(),
		e.factory.Core().V1().Nodes().Informer(),
		e.factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: notice, UpdateFunc: func(any, any) { notice(nil) }, DeleteFunc: notice,
		}); err != nil {
			cancel()
			return nil, err
		}
	}
	e.factory.Start(running.Done())
	e.factory.WaitForCacheSync(running.Done())
	e.done.Go(func() { e.run(running) })
	if err := e.Settle(ctx, time.Minute); err != nil {
		return nil, errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
	}
	return e, nil
}

func (e *Enforcement) run(ctx context.Context) {
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	for {
		e.apply(ctx)
		select {
		case <-ctx.Done():
			return
		case <-e.changed:
		case <-renew.C:
			e.mu.Lock()
			clear(e.applied)
			e.mu.Unlock()
		}
	}
}

// apply puts the rules onto the nodes that have others, side by side. Nodes that are down are tried again later.
func (e *Enforcement) apply(ctx context.Context) {
	rules, err := e.rules()
	nodes, listErr := e.nodes()
	if err = errors.Join(err, listErr); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.failed = err
		return
	}
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		if e.has(node, rules) {
			continue
		}
		wg.Go(func() {
			if errs[i] = onNodeNft(ctx, node, rules); errs[i] == nil {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.applied[node] = rules
			}
		})
	}
	wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = errors.Join(errs...)
}

func (e *Enforcement) has(node, rules string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.applied[node] == rules
}

func (e *Enforcement) rules() (string, error) {
	policies, err := e.factory.Networking().V1().NetworkPolicies().Lister().List(labels.Everything())
	if err != nil {
		return "", err
	}
	pods, err := e.factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return "", err
	}
	namespaces, err := e.factory.Core().V1().Namespaces().Lister().List(labels.Everything())
	if err != nil {
		return "", err
	}
	return netpolicy.Rules(netpolicy.World{Policies: values(policies), Pods: values(pods), Namespaces: values(namespaces)})
}

func (e *Enforcement) nodes() ([]string, error) {
	list, err := e.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	var out []string
	for _, n := range list {
		out = append(out, n.Name)
	}
	return out, err
}

func values[T corev1.Pod | corev1.Namespace | networkingv1.NetworkPolicy](list []*T) []T {
	out := make([]T, 0, len(list))
	for _, item := range list {
		out = append(out, *item)
	}
	return out
}

// Settle waits until all nodes have the rules for what this process knows of the cluster.
func (e *Enforcement) Settle(ctx context.Context, timeout time.Duration) error {
	return e.kube.Until(ctx, "the NetworkPolicies are in force", timeout, func(context.Context) (bool, string, error) {
		rules, err := e.rules()
		if err != nil {
			return false, "", err
		}
		nodes, err := e.nodes()
		if err != nil {
			return false, "", err
		}
		behind := 0
		for _, node := range nodes {
			if !e.has(node, rules) {
				behind++
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return behind == 0, fmt.Sprintf("%d of %d nodes have older rules", behind, len(nodes)), e.failed
	})
}

// Refusal is what was dropped: whence, whither, and the port.
type Refusal struct {
	From, To, Port string
}

// Refusals lists, by addresses, what the nodes have dropped since the enforcement began of packets from pods that were
// known.
func (e *Enforcement) Refusals(ctx context.Context) ([]Refusal, error) {
	nodes, err := e.nodes()
	if err != nil {
		return nil, err
	}
	seen := map[Refusal]bool{}
	var out []Refusal
	for _, node := range nodes {
		text, err := Docker(ctx, "exec", node, "nft", "-n", "list", "set", "ip", netpolicy.Table, netpolicy.RefusedSet)
		if err != nil {
			return nil, err
		}
		for _, r := range parseRefusals(text) {
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// parseRefusals reads the elements of the set, as nft lists them: "10.0.0.1 . 10.0.0.2 . 4567, ...".
func parseRefusals(text string) []Refusal {
	_, elements, _ := strings.Cut(text, "elements = {")
	elements, _, _ = strings.Cut(elements, "}")
	var out []Refusal
	for element := range strings.SplitSeq(elements, ",") {
		parts := strings.Split(element, " . ")
		if len(parts) == 3 {
			out = append(out, Refusal{From: strings.TrimSpace(parts[0]), To: parts[1], Port: strings.TrimSpace(parts[2])})
		}
	}
	return out
}

// Stop ends the enforcement: every port is open to all again.
func (e *Enforcement) Stop(ctx context.Context) error {
	e.cancel()
	e.done.Wait()
	return LiftPolicies(ctx, e.kube)
}

// LiftPolicies removes from all nodes the rules that an Enforcement, also one of an interrupted run, has put there.
func LiftPolicies(ctx context.Context, k *Kube) error {
	var list corev1.NodeList
	if err := k.List(ctx, &list); err != nil {
		return err
	}
	var errs []error
	for _, node := range list.Items {
		errs = append(errs, onNodeNft(ctx, node.Name, netpolicy.None()))
	}
	return errors.Join(errs...)
}
