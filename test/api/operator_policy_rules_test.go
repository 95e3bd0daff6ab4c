package api

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// mutant is a policy of config/admission without one part of one rule. A user of its own is subject to it, and to all
// the other policies.
type mutant struct {
	policy string
	// without is the part of the rule.
	without, user string
	client        client.Client
}

// redundantParts are parts of rules that no object shows, with the reason.
var redundantParts = map[string]string{
	"!c.?securityContext.?privileged.orValue(false)": "the API server refuses a privileged container with " +
		"allowPrivilegeEscalation: false",
	"request.operation != 'CREATE'":  "without it the rule fails for a new pod, which is a refusal, too",
	"has(oldObject.metadata.labels)": "without it the rule fails for a pod that has no labels, which is a refusal, too",
}

const (
	mutantUser   = "mutant:"
	mutantLabel  = "mutant-probe"
	mutantActive = "the mutant is active"

	// benchmarksPolicy is for the benchmarks' program alone, and not for the operator.
	benchmarksPolicy = "benchmarks"
)

// TestEachRuleRefuses: for each part of each rule of config/admission there is a request that this part alone refuses.
// So a rule that is removed or weakened fails this test, and a new one needs a request of its own.
func TestEachRuleRefuses(t *testing.T) {
	requests, probes := policyRequests(t)
	ofBenchmarks := benchmarkRequests(t, probes)
	whole, benchmarks, mutants := installMutants(t, probes)
	refused := func(c client.Client, requests map[string]func(client.Client) error) {
		for name, r := range requests {
			// Also waits until the policies are enforced.
			NewWithT(t).Eventually(func() error { return r(c) }).WithTimeout(time.Minute).
				Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy")), name)
		}
	}
	refused(whole, requests)
	refused(benchmarks, ofBenchmarks)
	var wg sync.WaitGroup
	limit := make(chan struct{}, 8)
	for _, m := range mutants {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			if err := m.active(probes[m.policy]); err != nil {
				t.Errorf("%s without %s is not enforced: %v", m.policy, m.without, err)
				return
			}
			admits := ""
			requests := requests
			if m.policy == benchmarksPolicy {
				requests = ofBenchmarks
			}
			for name, r := range requests {
				if r(m.client) == nil {
					admits = name
					break
				}
			}
			if reason, redundant := redundantParts[m.without]; redundant == (admits != "") {
				t.Errorf("%s: without %q the request %q is admitted; redundant: %q", m.policy, m.without, admits, reason)
			}
		})
	}
	wg.Wait()
	if len(mutants) < 40 {
		t.Errorf("%d mutants only", len(mutants))
	}
}

// active waits until the API server enforces the mutant.
func (m mutant) active(probe func(client.Client) error) error {
	if probe == nil {
		return nil // a deletion cannot be distinguished from another one
	}
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = probe(m.client); err != nil && strings.Contains(err.Error(), mutantActive) {
			return nil
		}
	}
	return fmt.Errorf("the probe: %w", err)
}

// installMutants installs all policies for users of this test, and the mutants. It returns the client of one who is
// subject to the whole policies, and that of one who is in the place of the benchmarks' program.
func installMutants(t *testing.T, probes map[string]func(client.Client) error) (whole, benchmarks client.Client,
	mutants []mutant) {
	t.Helper()
	install := func(p *unstructured.Unstructured, name, users string) {
		p.SetName(name)
		must(t, unstructured.SetNestedSlice(p.Object, []any{map[string]any{"name": "mutant", "expression": users}},
			"spec", "matchConditions"))
		binding := &unstructured.Unstructured{Object: map[string]any{"apiVersion": p.GetAPIVersion(),
			"kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"policyName": name, "validationActions": []any{"Deny"}}}}
		for _, o := range []*unstructured.Unstructured{p, binding} {
			must(t, kube.Create(context.Background(), o))
			t.Cleanup(func() { _ = kube.Delete(context.Background(), o) })
		}
	}
	for _, p := range shippedPolicies(t) {
		of := strings.TrimPrefix(p.GetName(), "galera-operator-")
		rules, _, err := unstructured.NestedSlice(p.Object, "spec", "validations")
		must(t, err)
		own := mutantUser + of + ":"
		users := fmt.Sprintf("request.userInfo.username.startsWith('%s') && !request.userInfo.username.startsWith('%s')",
			mutantUser, own)
		if of == benchmarksPolicy {
			users = fmt.Sprintf("request.userInfo.username == '%snone'", own)
		}
		install(p.DeepCopy(), "mutants-"+of, users)
		for i, rule := range rules {
			expression := rule.(map[string]any)["expression"].(string)
			for _, part := range parts(expression) {
				m := mutant{policy: of, without: expression[part[0]:part[1]], user: fmt.Sprint(own, len(mutants))}
				m.client = as(t, m.user)
				weaker := p.DeepCopy()
				changed := slices.Clone(rules)
				changed[i] = map[string]any{"expression": expression[:part[0]] + "true" + expression[part[1]:],
					"message": "a mutant refuses this"}
				if probes[of] != nil {
					changed = append(changed, map[string]any{"message": mutantActive, "expression": fmt.Sprintf(
						"request.operation == 'DELETE' || !('%s' in object.metadata.?labels.orValue({}))", mutantLabel)})
				}
				must(t, unstructured.SetNestedSlice(weaker.Object, changed, "spec", "validations"))
				install(weaker, fmt.Sprintf("mutant-%s-%d", of, len(mutants)),
					fmt.Sprintf("request.userInfo.username == '%s'", m.user))
				mutants = append(mutants, m)
			}
		}
	}
	return as(t, mutantUser+"none"), as(t, mutantUser+benchmarksPolicy+":none"), mutants
}

// as is a user with every right of RBAC.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	c := rest.CopyConfig(config)
	c.QPS = -1
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters", "system:authenticated"}}
	made, err := client.New(c, client.Options{Scheme: scheme, Mapper: kube.RESTMapper()})
	must(t, err)
	return made
}

func shippedPolicies(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, file := range []string{"operator.yaml", "deletion_protection.yaml"} {
		text, err := os.ReadFile("../../config/admission/" + file)
		must(t, err)
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			u := &unstructured.Unstructured{}
			must(t, yaml.Unmarshal([]byte(doc), &u.Object))
			if u.GetKind() == "ValidatingAdmissionPolicy" {
				out = append(out, u)
			}
		}
	}
	if len(out) != 6 {
		t.Fatalf("%d policies", len(out))
	}
	return out
}

// parts are the operands of every && of an expression, however deep, or the whole of one that has none.
func parts(expression string) (out [][2]int) {
	type frame struct {
		start int
		chain [][2]int
	}
	stack := []frame{{}}
	end := func(at int, and bool) {
		f := &stack[len(stack)-1]
		if and || len(f.chain) > 0 {
			from, to := f.start, at
			for from < to && expression[from] == ' ' {
				from++
			}
			for to > from && expression[to-1] == ' ' {
				to--
			}
			f.chain = append(f.chain, [2]int{from, to})
		}
		if !and {
			out, f.chain = append(out, f.chain...), nil
		}
	}
	for i, quoted := 0, false; i < len(expression); i++ {
		two := expression[i:min(i+2, len(expression))]
		f := &stack[len(stack)-1]
		switch c := expression[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", rune(c)):
			stack = append(stack, frame{start: i + 1})
		case strings.ContainsRune(")]}", rune(c)):
			end(i, false)
			stack = stack[:len(stack)-1]
		case two == "&&":
			end(i, true)
			f.start, i = i+2, i+1
		case two == "||":
			end(i, false)
			f.start, i = i+2, i+1
		case c == ',', c == ':', c == '?' && expression[i-1] != '.':
			end(i, false)
			f.start = i + 1
		}
	}
	end(len(expression), false)
	if len(out) == 0 {
		out = [][2]int{{0, len(expression)}}
	}
	return out
}

// TestParts of a rule: what is in brackets counts as well, and an exception does not.
func TestParts(t *testing.T) {
	const expression = "a || (b && c.all(x, x.?d.orValue('&& (') == e && !f)) || g && h ? i : j"
	var got []string
	for _, p := range parts(expression) {
		got = append(got, expression[p[0]:p[1]])
	}
	want := []string{"x.?d.orValue('&& (') == e", "!f", "b", "c.all(x, x.?d.orValue('&& (') == e && !f)", "g", "h"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := parts("a || b"); !slices.Equal(got, [][2]int{{0, 6}}) {
		t.Errorf("%v", got)
	}
}

// policyRequests are requests that the policies refuse, and for each policy one that it admits, with the label that
// mutants refuse.
func policyRequests(t *testing.T) (requests, probes map[string]func(client.Client) error) {
	t.Helper()
	ctx, all := context.Background(), everyWorkload(t, false)
	requests, probes = map[string]func(client.Client) error{}, map[string]func(client.Client) error{}
	create := func(o client.Object) func(client.Client) error {
		o.SetOwnerReferences(nil) // made-up owners
		return func(c client.Client) error {
			return c.Create(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
		}
	}
	for name, o := range refusedObjects(all) {
		requests[name] = create(o.object())
	}
	pod := func(name string, change func(*corev1.PodSpec)) {
		s := all["nodes with sidecars"].DeepCopyObject().(*appsv1.StatefulSet)
		change(&s.Spec.Template.Spec)
		requests[name] = create(s)
	}
	sidecar := func(name string, change func(*corev1.PodSpec, *corev1.SecurityContext)) {
		pod(name, func(p *corev1.PodSpec) { change(p, p.InitContainers[len(p.InitContainers)-1].SecurityContext) })
	}
	unconfined := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	pod("the host's shared memory", func(p *corev1.PodSpec) { p.HostIPC = true })
	pod("root by the pod", func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = new(int64(0)) })
	pod("AppArmor of the pod", func(p *corev1.PodSpec) { p.SecurityContext.AppArmorProfile = unconfined })
	pod("SELinux of the pod", func(p *corev1.PodSpec) {
		p.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: "x"}
	})
	pod("Windows of the pod", func(p *corev1.PodSpec) {
		p.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{RunAsUserName: new("x")}
	})
	sidecar("a sidecar that may be root", func(_ *corev1.PodSpec, s *corev1.SecurityContext) {
		s.RunAsNonRoot = new(false)
	})
	sidecar("AppArmor of a sidecar", func(_ *corev1.PodSpec, s *corev1.SecurityContext) { s.AppArmorProfile = unconfined })
	sidecar("Windows of a sidecar", func(_ *corev1.PodSpec, s *corev1.SecurityContext) {
		s.WindowsOptions = &corev1.WindowsSecurityContextOptions{RunAsUserName: new("x")}
	})
	sidecar("/proc unmasked", func(p *corev1.PodSpec, s *corev1.SecurityContext) {
		p.HostUsers, s.ProcMount = new(false), new(corev1.UnmaskedProcMount)
	})

	role := func(name string, change func(*rbacv1.Role)) {
		r := all["benchmark's Role"].DeepCopyObject().(*rbacv1.Role)
		change(r)
		requests[name] = create(r)
	}
	role("a Role with a cluster's name", func(r *rbacv1.Role) { r.Name = "shop-galera" })
	role("more verbs", func(r *rbacv1.Role) { r.Rules[0].Verbs = []string{"patch", "get"} })
	role("all ConfigMaps", func(r *rbacv1.Role) { r.Rules[0].ResourceNames = nil })
	binding := func(name string, change func(*rbacv1.RoleBinding)) {
		b := all["benchmark's RoleBinding"].DeepCopyObject().(*rbacv1.RoleBinding)
		change(b)
		requests[name] = create(b)
	}
	binding("another Role", func(b *rbacv1.RoleBinding) { b.RoleRef.Name = "admin" })
	binding("an account elsewhere", func(b *rbacv1.RoleBinding) { b.Subjects[0].Namespace = "kube-system" })
	binding("a user", func(b *rbacv1.RoleBinding) {
		b.Subjects[0].Kind, b.Subjects[0].APIGroup = rbacv1.UserKind, rbacv1.GroupName
	})
	account := all["account"].DeepCopyObject().(*corev1.ServiceAccount)
	account.AutomountServiceAccountToken = nil
	requests["an account with a token"] = create(account)

	existing(t, requests, probes)
	for policy, o := range map[string]client.Object{"workloads": all["nodes"], "accounts": all["account"],
		"namespaces": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}} {
		o = o.DeepCopyObject().(client.Object)
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[mutantLabel] = "x"
		o.SetLabels(labels)
		probes[policy] = create(o)
	}
	return requests, probes
}

// existing adds requests about objects that are there.
func existing(t *testing.T, requests, probes map[string]func(client.Client) error) {
	t.Helper()
	ctx := context.Background()
	const ns = "openshift-policed"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	requests["a namespace of OpenShift"] = func(c client.Client) error {
		return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "x"}}, client.DryRunAll)
	}
	const own = "rules"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own}}))
	pod := func(name string, labels map[string]string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: name, Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
		must(t, kube.Create(ctx, p))
		return p
	}
	patch := func(o client.Object, text string) func(client.Client) error {
		return func(c client.Client) error {
			return c.Patch(ctx, o.DeepCopyObject().(client.Object),
				client.RawPatch("application/strategic-merge-patch+json", []byte(text)), client.DryRunAll)
		}
	}
	theirs := pod("theirs", map[string]string{"a": "b"})
	ours := pod("ours", map[string]string{v1alpha1.LabelCluster: "shop"})
	unlabelled := pod("unlabelled", nil)
	requests["a label of others' pod"] = patch(theirs, `{"metadata": {"labels": {"b": "c"}}}`)
	requests["a label of a pod without any"] = patch(unlabelled, `{"metadata": {"labels": {"b": "c"}}}`)
	requests["another image"] = patch(ours, `{"spec": {"containers": [{"name": "x", "image": "evil"}]}}`)
	probes["pods"] = patch(ours, `{"metadata": {"labels": {"`+mutantLabel+`": "x"}}}`)

	kept := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "kept"}, Spec: spec()}
	kept.Spec.DeletionProtection = true
	must(t, kube.Create(ctx, kept))
	requests["a deletion of a protected cluster"] = func(c client.Client) error {
		return c.Delete(ctx, kept.DeepCopy(), client.DryRunAll)
	}
}
