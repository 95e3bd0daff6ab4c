package api

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// operatorName is the user that config/admission limits.
const operatorName = "system:serviceaccount:galera-operator-system:galera-operator-controller-manager"

// asOperator is the operator's user with every right of RBAC: what is refused, the policies refuse.
func asOperator(c *rest.Config) *rest.Config { return impersonating(c, operatorName) }

func impersonating(c *rest.Config, name string) *rest.Config {
	c = rest.CopyConfig(c)
	c.Impersonate = rest.ImpersonationConfig{UserName: name,
		Groups: []string{"system:masters", "system:authenticated"}}
	return c
}

// restrictOperator installs the policies. Every operator of these tests runs under them.
func restrictOperator(ctx context.Context, c client.Client) error {
	text, err := os.ReadFile("../../config/admission/operator.yaml")
	if err != nil {
		return err
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			return err
		}
		if err := c.Create(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// policedClient is the client of the operator, or of the benchmarks' program, once the API server enforces
// the policies.
func policedClient(t *testing.T, user string) client.Client {
	t.Helper()
	c, err := client.New(impersonating(config, user), client.Options{Scheme: scheme})
	must(t, err)
	for _, o := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "probe"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}}},
	} {
		NewWithT(t).Eventually(func() error {
			return c.Create(context.Background(), o.DeepCopyObject().(client.Object), client.DryRunAll)
		}).
			WithTimeout(time.Minute).Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy")))
	}
	return c
}

// policedCluster has each kind of pod and of volume.
func policedCluster(t *testing.T) *v1alpha1.GaleraCluster {
	t.Helper()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "1"}}
	must(t,
		yaml.Unmarshal(
			[]byte(
				`{replicas: 2, storage: {size: 1Gi, temporary: {size: 1Gi}}, arbitrator: {enabled: true},
		monitoring: {exporter: {image: e}}, podTemplate: {labels: {team: a},
			volumes: [{name: x}, {name: rules, configMap: audit}],
			sidecars: [{name: audit, image: a, port: 9000, volumeMounts: [{name: x, mountPath: /x}]}]},
		backup: {storeRef: {name: s3}, pointInTime: {enabled: true}},
		bootstrapFrom: {storeRef: {name: s3}, identitySecretRef: {name: key, key: key.txt}}}`), &c.Spec))
	return c
}

// everyWorkload renders what the operator creates, of each kind and with each kind of volume, and has what the policies
// let be made for a benchmark.
func everyWorkload(t *testing.T, assigned bool) map[string]client.Object {
	t.Helper()
	c := policedCluster(t)
	plain := c.DeepCopy()
	plain.Spec.Storage.Temporary, plain.Spec.PodTemplate, plain.Spec.Monitoring = nil, nil, nil
	ro, o := resources.Options{OperatorImage: "operator", DefaultImage: "mariadb", AssignedUsers: assigned},
		job.Options{Image: "operator", AssignedUsers: assigned}
	state := resources.StatefulSetState{Replicas: 2, Claim: c.Spec.Storage.Size}
	all := map[string]client.Object{
		"nodes with sidecars": resources.StatefulSet(c, ro, state), "nodes": resources.StatefulSet(plain, ro, state),
		"arbitrator": resources.Arbitrator(c, ro, true),
		"account":    resources.ServiceAccount(c),
	}
	add := func(name string, o client.Object, err error) { must(t, err); all[name] = o }
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: "2"}}
	must(t,
		yaml.Unmarshal(
			[]byte(`{clusterRef: {name: shop}, storeRef: {name: s3}, identitySecretRef: {name: key, key: key.txt}}`), &b.Spec))
	for kind, spec := range map[string]string{"s3": `{s3: {bucket: b, credentials: {secretName: x, accessKeyIDKey: a, secretAccessKeyKey: b}, caBundle: {configMapName: c, key: x}}}`, "azure": `{azure: {account: a, container: c}}`, "volume": `{volume: {claimName: c}}`} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: kind, UID: "3"}}
		must(t, yaml.Unmarshal([]byte(spec), &s.Spec))
		all[kind+": account"] = job.Account(s)
		j, err := job.Check(s, o)
		add(kind+": check", j, err)
		j, err = job.Backup(b, &v1alpha1.GaleraCluster{}, s, task.Backup{}, 1, o)
		add(kind+": backup", j, err)
		j, err = job.Remove(b, &v1alpha1.GaleraCluster{}, s, o)
		add(kind+": removal", j, err)
		j, err = job.Find(c, s, task.Find{}, o)
		add(kind+": find", j, err)
		j, err = job.Restore(c, s, 0, task.Restore{}, ro, o)
		add(kind+": restore", j, err)
		for by, restore := range map[string]bool{"read": false, "restore": true} {
			j, err = job.Verify(b, s, c, task.Verify{Restore: restore}, ro, o)
			add(kind+": verify by "+by, j, err)
		}
		r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r", UID: "4"}}
		r.Spec.From.IdentitySecretRef = v1alpha1.SecretKey{Name: "key", Key: "key.txt"}
		j, err = job.FindFor(r, c, s, task.Find{}, o)
		add(kind+": find for a table", j, err)
		j, err = job.Load(r, c, s, task.Load{}, "r-restore-binding", ro, o)
		add(kind+": load of a table", j, err)
		d, err := job.Archiver(c, s, job.Damaged{}, ro, o)
		add(kind+": archiver", d, err)
		d, err = job.Lease(c, s, ro, o)
		add(kind+": lease", d, err)
	}
	maps.Copy(all, access())
	if len(all) < 43 {
		t.Fatalf("%d objects", len(all))
	}
	return all
}

// TestOperatorPolicyAdmitsTheOperator: whatever it creates passes.
func TestOperatorPolicyAdmitsTheOperator(t *testing.T) {
	c := policedClient(t, operatorName)
	for users, assigned := range map[string]bool{"fixed": false, "assigned": true} {
		for name, o := range everyWorkload(t, assigned) {
			o.SetOwnerReferences(nil) // made-up owners
			if err := c.Create(context.Background(), o, client.DryRunAll); err != nil {
				t.Errorf("%s, users %s: %v", name, users, err)
			}
		}
	}
}

// refused is an object that the policies refuse, with a part of the reason.
type refused struct {
	object func() client.Object
	want   string
}

// TestOperatorPolicyRefusals: who has taken over the operator does not get further than its clusters.
func TestOperatorPolicyRefusals(t *testing.T) {
	c := policedClient(t, operatorName)
	for name, tc := range refusedObjects(everyWorkload(t, false)) {
		o := tc.object()
		o.SetOwnerReferences(nil)
		if err := c.Create(context.Background(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// refusedObjects are made of those that the operator creates.
func refusedObjects(all map[string]client.Object) map[string]refused {
	pod := func(change func(*corev1.PodSpec)) func() client.Object {
		return func() client.Object {
			s := all["nodes with sidecars"].DeepCopyObject().(*appsv1.StatefulSet)
			change(&s.Spec.Template.Spec)
			return s
		}
	}
	sidecar := func(change func(*corev1.SecurityContext)) func() client.Object {
		return pod(func(p *corev1.PodSpec) { change(p.InitContainers[len(p.InitContainers)-1].SecurityContext) })
	}
	object := func(name string, change func(client.Object)) func() client.Object {
		return func() client.Object {
			o := all[name].DeepCopyObject().(client.Object)
			change(o)
			return o
		}
	}
	volume := func(v corev1.VolumeSource) func() client.Object {
		return pod(func(p *corev1.PodSpec) { p.Volumes = append(p.Volumes, corev1.Volume{Name: "more", VolumeSource: v}) })
	}
	token := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}
	return map[string]refused{
		"a system namespace": {object("nodes", func(o client.Object) { o.SetNamespace("kube-system") }),
			"changes nothing in system namespaces"},
		"a Secret in a system namespace": {func() client.Object {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "x"}}
		}, "changes nothing in system namespaces"},
		"a privileged account": {pod(func(p *corev1.PodSpec) { p.ServiceAccountName = "deployer" }),
			"only under ServiceAccounts whose names end in -galera"},
		"the default account": {pod(func(p *corev1.PodSpec) { p.ServiceAccountName = "" }),
			"only under ServiceAccounts whose names end in -galera"},
		"a Job's account": {object("s3: backup",
			func(o client.Object) { o.(*batchv1.Job).Spec.Template.Spec.ServiceAccountName = "default" }),
			"only under ServiceAccounts whose names end in -galera"},
		"a Deployment's account": {object("s3: archiver",
			func(o client.Object) { o.(*appsv1.Deployment).Spec.Template.Spec.ServiceAccountName = "default" }),
			"only under ServiceAccounts whose names end in -galera"},
		"a mounted token":      {pod(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil }), "get no token"},
		"a projected token":    {volume(token), "get no token"},
		"the host's network":   {pod(func(p *corev1.PodSpec) { p.HostNetwork = true }), "use nothing of the host"},
		"the host's processes": {pod(func(p *corev1.PodSpec) { p.HostPID = true }), "use nothing of the host"},
		"the host's ports": {pod(func(p *corev1.PodSpec) { p.Containers[0].Ports[0].HostPort = 3306 }),
			"use nothing of the host"},
		"the host's files": {volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
			"nothing of the host"},
		"a volume of NFS": {volume(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "x", Path: "/"}}),
			"nothing of the host"},
		"perhaps root": {pod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil }), "do not run as root"},
		"root": {sidecar(func(s *corev1.SecurityContext) {
			s.RunAsNonRoot, s.RunAsUser = nil,
				new(int64(0))
		}), "do not run as root"},
		"no seccomp": {pod(func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil }),
			"have a seccomp profile"},
		"a sidecar without seccomp": {sidecar(func(s *corev1.SecurityContext) {
			s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}), "have a seccomp profile"},
		"a privileged sidecar": {sidecar(func(s *corev1.SecurityContext) {
			s.Privileged,
				s.AllowPrivilegeEscalation = new(true), nil
		}), "are not privileged"},
		"escalation": {sidecar(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = nil }),
			"are not privileged"},
		"capabilities": {sidecar(func(s *corev1.SecurityContext) { s.Capabilities = nil }), "drop ALL capabilities"},
		"a capability": {sidecar(
			func(s *corev1.SecurityContext) { s.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"} }), "drop ALL capabilities"},
		"no security context": {pod(func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil }),
			"are not privileged"},
		"sysctls": {pod(func(p *corev1.PodSpec) {
			p.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax", Value: "1"}}
		}), "change no sysctl"},
		"all of /proc": {sidecar(func(s *corev1.SecurityContext) {
			s.ProcMount = new(corev1.DefaultProcMount)
			s.SELinuxOptions = &corev1.SELinuxOptions{Type: "x"}
		}), "change no sysctl"},
		"another's account": {object("account", func(o client.Object) { o.SetName("deployer") }),
			"changes only ServiceAccounts whose names"},
		"a cloud's role": {object("account",
			func(o client.Object) { o.SetAnnotations(map[string]string{"eks.amazonaws.com/role-arn": "x"}) }),
			"neither tokens nor annotations"},
		"a pod": {func() client.Object {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
		}, "creates no pods itself"},
		"a Role": {object("benchmark's Role", func(o client.Object) { o.SetName("mine") }),
			"only Roles and RoleBindings of benchmarks"},
		"rights": {object("benchmark's Role", func(o client.Object) {
			o.(*rbacv1.Role).
				Rules[0].Resources = []string{"secrets"}
		}), "allows patching one ConfigMap"},
		"rights for others": {object("benchmark's RoleBinding",
			func(o client.Object) { o.(*rbacv1.RoleBinding).Subjects[0].Name = "default" }),
			"to its own ServiceAccount only"},
		"rights of others": {object("benchmark's RoleBinding",
			func(o client.Object) { o.(*rbacv1.RoleBinding).RoleRef.Kind = "ClusterRole" }), "to its own ServiceAccount only"},
	}
}

// TestOperatorPolicyOnWhatExists: pods of others and what pods run are out of its hands, and so are accounts of others.
func TestOperatorPolicyOnWhatExists(t *testing.T) {
	ctx, c := context.Background(), policedClient(t, operatorName)
	const ns = "policed"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	pod := func(name string, labels map[string]string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}
		must(t, kube.Create(ctx, p))
		return p
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}}
	must(t, kube.Create(ctx, account))
	patch := func(o client.Object, text string) error {
		return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch("application/strategic-merge-patch+json",
			[]byte(text)))
	}
	theirs, ours := pod("theirs", nil), pod("ours", map[string]string{v1alpha1.LabelCluster: "shop"})
	for _, tc := range []struct {
		what string
		err  error
		want string
	}{
		{"a label of others' pod", patch(theirs, `{"metadata": {"labels": {"a": "b"}}}`), "only those of its clusters"},
		{"a deletion of others' pod", c.Delete(ctx, theirs.DeepCopy(), client.DryRunAll), "only those of its clusters"},
		{"another image", patch(ours, `{"spec": {"containers": [{"name": "x", "image": "evil"}]}}`), "never what they run"},
		{"a deletion of others' account", c.Delete(ctx, account.DeepCopy(), client.DryRunAll),
			"changes only ServiceAccounts whose names"},
		{"a label of its own pod", patch(ours, `{"metadata": {"labels": {"a": "b"}}}`), ""},
		{"a deletion of its own pod", c.Delete(ctx, ours.DeepCopy(), client.DryRunAll), ""},
	} {
		if (tc.err == nil) != (tc.want == "") || tc.err != nil && !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.what, tc.err, tc.want)
		}
	}
}
