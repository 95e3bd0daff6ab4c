package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/galerarestore"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestImportFromServerAdmission: an import names a server, how it is trusted, and nothing that is about a backup; the
// names may stay.
func TestImportFromServerAdmission(t *testing.T) {
	const server = `host: db, credentialsSecretRef: {name: old}`
	spec := func(from, what string) string {
		return `{clusterRef: {name: shop}, from: {` + from + `}, ` + what + `}`
	}
	const tls, table, database = `, tls: {caSecretRef: {name: ca}}`, `table: {database: shop, name: orders, as: orders}`,
		`database: {name: shop, as: shop}`
	for name, tc := range map[string]struct{ spec, want string }{
		"a table":            {spec(`external: {`+server+tls+`}`, table), ""},
		"a database":         {spec(`external: {`+server+`, insecure: true}`, database), ""},
		"with bounds":        {spec(`external: {`+server+tls+`, port: 3307, connections: 4, rateLimit: 1Mi}`, database), ""},
		"neither TLS nor":    {spec(`external: {`+server+`}`, table), "or set insecure: true"},
		"both":               {spec(`external: {`+server+tls+`, insecure: true}`, table), "or set insecure: true"},
		"a store, too":       {spec(`external: {`+server+tls+`}, store: {name: s}`, table), "exactly one of backup"},
		"a key":              {spec(`external: {`+server+tls+`}, identitySecretRef: {name: k}`, table), "does not go with"},
		"a point in time":    {spec(`external: {`+server+tls+`}, pointInTime: {latest: true}`, table), "does not go with"},
		"a store's rate":     {spec(`external: {`+server+tls+`}, rateLimit: 5Mi`, table), "set external.rateLimit"},
		"a rate of nothing":  {spec(`external: {`+server+tls+`, rateLimit: 1Ki}`, table), "at least 64Ki"},
		"many connections":   {spec(`external: {`+server+tls+`, connections: 17}`, table), "less than or equal to 16"},
		"a host with a path": {spec(`external: {host: a/b, credentialsSecretRef: {name: o}, insecure: true}`, table), "host"},
		"a system database":  {spec(`external: {`+server+tls+`}`, `database: {name: mysql, as: x}`), "operator's own"},
	} {
		t.Run(name, func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), backupKind(t, "GaleraRestore", "valid", tc.spec), client.DryRunAll),
				tc.want)
		})
	}
}

// TestImportFromServer: another server is checked before the cluster gets an account, and nothing but the Jobs has its
// password.
func TestImportFromServer(t *testing.T) {
	ctx := context.Background()
	const ns = "import"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	o := backupKind(t, "GaleraRestore", "crm", `{clusterRef: {name: shop}, from: {external: {host: db.example.com,
		credentialsSecretRef: {name: old}, insecure: true}}, database: {name: crm, as: crm}}`)
	o.SetNamespace(ns)
	must(t, kube.Create(ctx, o))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}
	c.Spec.Storage.Size, c.Spec.Replicas = resource.MustParse("1Gi"), 3
	must(t, kube.Create(ctx, c))
	status.SetCondition(&c.Status.Conditions, c.Generation, v1alpha1.ConditionReady, true, "Ready", "")
	must(t, kube.Status().Update(ctx, c))
	later, free := time.Duration(0), volumes{"shop-0": 5 << 30, "shop-1": 2 << 20, "shop-2": 5 << 30}
	r := galerarestore.Reconciler{Client: kube, Live: kube, Jobs: job.Options{Image: "operator"},
		Options: resources.Options{DefaultImage: "mariadb:11.8", OperatorNamespace: "galera"},
		Events:  events.NewFakeRecorder(20), Now: func() time.Time { return time.Now().Add(later) },
		Agents: free,
		Calls: &restoring.Progress{Do: calls.One(func(_ context.Context, address, leaf string) (task.Copied, error) {
			if address != "10.0.0.9" || !strings.Contains(leaf, "BEGIN CERTIFICATE") {
				return task.Copied{}, errors.New("it asks " + address)
			}
			return task.Copied{Rows: 25, Expected: 100, Tables: 2, RestSeconds: 60}, nil
		})}}
	restore := &v1alpha1.GaleraRestore{}
	pass := func(reason string) (jobs batchv1.JobList, users v1alpha1.GaleraUserList) {
		t.Helper()
		for range 4 {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
			must(t, err)
		}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(o), restore))
		must(t, kube.List(ctx, &jobs, client.InNamespace(ns)))
		must(t, kube.List(ctx, &users, client.InNamespace(ns)))
		jobs.Items = slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })
		has := meta.FindStatusCondition(restore.Status.Conditions, v1alpha1.ConditionComplete)
		if has == nil || has.Reason != reason {
			t.Fatalf("it has not %s: %+v", reason, restore.Status)
		}
		return jobs, users
	}
	jobs, _ := pass(v1alpha1.ReasonCredentialsMissing)
	if m := restore.Status.Conditions[0].Message; len(jobs.Items) > 0 || !strings.Contains(m, "spec.from.external") {
		t.Fatalf("%d Jobs: %s", len(jobs.Items), m)
	}
	must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}}))
	jobs, users := pass(v1alpha1.ReasonRestoring)
	if len(jobs.Items) != 1 || jobs.Items[0].Name != "crm-load-1" || len(users.Items) > 0 {
		t.Fatalf("%d Jobs, %d accounts", len(jobs.Items), len(users.Items))
	}
	finish(t, &jobs.Items[0], task.Result{Source: &task.Source{Version: "11.8.3-MariaDB", Findings: []task.Finding{{
		Name: "PrimaryKeyMissing", Objects: []string{"crm.bare"}, Count: 1, Message: "add one"}}}})
	if _, users = pass(v1alpha1.ReasonSourceUnsuitable); len(users.Items) > 0 ||
		len(restore.Status.External.Findings) != 1 || !restore.Status.External.Plaintext {
		t.Fatalf("%d accounts, %+v", len(users.Items), restore.Status)
	}
	later = 30 * time.Second // longer than the pause, and shorter than a Job without a pod is worth a word
	if jobs, _ = pass(v1alpha1.ReasonSourceUnsuitable); len(jobs.Items) != 1 || jobs.Items[0].Name != "crm-load-2" {
		t.Fatalf("it is not checked again: %+v", jobs.Items)
	}
	finish(t, &jobs.Items[0], task.Result{Source: &task.Source{Version: "11.8.3-MariaDB", Bytes: 9 << 20}})
	if _, users = pass(v1alpha1.ReasonDiskFull); len(users.Items) > 0 ||
		!strings.Contains(restore.Status.Conditions[0].Message, "the volume of shop-1") {
		t.Fatalf("%d accounts, %+v", len(users.Items), restore.Status)
	}
	free["shop-1"] = 5 << 30
	pass(v1alpha1.ReasonAccessPreparing)
	if _, users = pass(v1alpha1.ReasonAccessPreparing); len(users.Items) != 1 {
		t.Fatalf("%d accounts: %+v", len(users.Items), restore.Status)
	}
	var databases v1alpha1.GaleraDatabaseList
	must(t, kube.List(ctx, &databases, client.InNamespace(ns)))
	for i := range databases.Items {
		status.SetCondition(&databases.Items[i].Status.Conditions, 1, v1alpha1.ConditionReady, true, "Applied", "")
		must(t, kube.Status().Update(ctx, &databases.Items[i]))
	}
	status.SetCondition(&users.Items[0].Status.Conditions, 1, v1alpha1.ConditionReady, true, "Applied", "")
	must(t, kube.Status().Update(ctx, &users.Items[0]))
	jobs, _ = pass(v1alpha1.ReasonRestoring)
	if len(jobs.Items) != 1 || jobs.Items[0].Name != "crm-load-3" {
		t.Fatalf("%+v, %+v", jobs.Items, restore.Status)
	}
	var sent task.Task
	must(t, json.Unmarshal([]byte(jobs.Items[0].Spec.Template.Spec.Containers[0].Env[0].Value), &sent))
	if l := sent.Load; l == nil || l.From == nil || l.From.Host != "db.example.com" || l.From.Port != 3306 ||
		l.From.Connections != 1 || !l.From.Plain || l.Database != "crm" || l.Into != "crm" {
		t.Errorf("%+v", sent.Load)
	}
	for _, o := range []client.Object{&corev1.Secret{}, &networkingv1.NetworkPolicy{}} {
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: ns, Name: "crm-load-progress"}, o))
	}
	running := podOf(&jobs.Items[0], "crm-running")
	must(t, kube.Create(ctx, running))
	running.Status.Phase, running.Status.PodIP = corev1.PodRunning, "10.0.0.9"
	running.Status.PodIPs = []corev1.PodIP{{IP: running.Status.PodIP}}
	must(t, kube.Status().Update(ctx, running))
	pass(v1alpha1.ReasonRestoring)
	if p := restore.Status.Progress; p == nil || p.Summary != "25%" || p.ETA == nil || p.Tables != 2 {
		t.Fatalf("its progress is %+v", p)
	}
	finish(t, &jobs.Items[0], task.Result{Loaded: &task.Loaded{Tables: 2, Rows: 9, GTID: "0-1-7"}})
	jobs, users = pass(v1alpha1.ReasonRestoreCompleted)
	for _, o := range []client.Object{&corev1.Secret{}, &networkingv1.NetworkPolicy{}} {
		err := kube.Get(ctx, client.ObjectKey{Namespace: ns, Name: "crm-load-progress"}, o)
		if !apierrors.IsNotFound(err) || restore.Status.Progress != nil {
			t.Errorf("it is left: %T, %+v, %v", o, restore.Status.Progress, err)
		}
	}
	if restore.Status.Rows != 9 || restore.Status.External.GTID != "0-1-7" || len(jobs.Items)+len(users.Items) > 0 {
		t.Errorf("%+v, %d Jobs, %d accounts", restore.Status, len(jobs.Items), len(users.Items))
	}
}

// volumes are what agents report as free, by node.
type volumes map[string]int64

// Seen returns that of all nodes.
func (v volumes) Seen(types.NamespacedName) map[string]observe.Seen {
	out := map[string]observe.Seen{}
	for node, free := range v {
		out[node] = observe.Seen{Live: true, Report: agentapi.Report{
			Volume: &agentapi.VolumeSpace{Free: free, Size: 10 << 30}}}
	}
	return out
}

// podOf is a pod of a Job.
func podOf(j *batchv1.Job, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: name,
		Labels:          map[string]string{batchv1.JobNameLabel: j.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: job.Container, Image: "operator"}}}}
}

// finish ends a Job with a result.
func finish(t *testing.T, j *batchv1.Job, r task.Result) {
	t.Helper()
	ctx := context.Background()
	text, err := json.Marshal(r)
	must(t, err)
	pod := podOf(j, j.Name)
	must(t, kube.Create(ctx, pod))
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text)}}}}
	must(t, kube.Status().Update(ctx, pod))
	now := metav1.Now()
	j.Status.StartTime, j.Status.CompletionTime, j.Status.Succeeded = &now, &now, 1
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	must(t, kube.Status().Update(ctx, j))
}
