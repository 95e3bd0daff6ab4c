package api

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/galerabackupstore"
	"github.com/galera-operator/galera-operator/internal/backup/job"
)

// TestStoreSecrets: credentials go to the endpoint that a store names. What belongs to a cluster is none of them. Jobs
// run under no ServiceAccount that was not made for them.
func TestStoreSecrets(t *testing.T) {
	ctx := context.Background()
	const ns = "stores"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	secret := func(name string, labels map[string]string) {
		must(t, kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}}))
	}
	secret("shop-root", map[string]string{v1alpha1.LabelCluster: "shop"})
	secret("s3", nil)
	must(t, kube.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-shop-0",
			Labels: map[string]string{v1alpha1.LabelCluster: "shop"}},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}))
	account := func(name string) {
		must(t, kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}))
	}
	account("admin")
	account("cloud-galera")
	account("backup")
	account("taken-store-galera")
	r := galerabackupstore.Reconciler{Client: kube, Live: kube,
		Jobs: job.Options{Image: "operator", ServiceAccounts: []string{"backup"}}, Now: time.Now}
	for name, tc := range map[string]struct{ spec, want, account string }{
		"root": {`{s3: {bucket: bbb, credentials: {secretName: shop-root, accessKeyIDKey: password, secretAccessKeyKey: password}}, encryption: {recipients: [KEY]}}`, `Secret "shop-root" belongs to the cluster "shop"`, ""},
		"ca":   {`{s3: {bucket: bbb, credentials: {secretName: s3}, caBundle: {secretName: shop-root}}, encryption: {recipients: [KEY]}}`, `Secret "shop-root" belongs to the cluster "shop"`, ""},
		"google": {`{gcs: {bucket: bbb, credentials: {secretName: shop-root}}, encryption: {recipients: [KEY]}}`,
			`Secret "shop-root" belongs to the cluster "shop"`, ""},
		"azure": {`{azure: {account: aaa, container: bbb, credentials: {secretName: s5}}, encryption: {recipients: [KEY]}}`,
			`is no Secret "s5"`, ""},
		"missing": {`{s3: {bucket: bbb, credentials: {secretName: s4}}, encryption: {recipients: [KEY]}}`,
			`is no Secret "s4"`, ""},
		"map": {`{s3: {bucket: bbb, credentials: {secretName: s3}, caBundle: {configMapName: c}}, encryption: {recipients: [KEY]}}`,
			`is no ConfigMap "c"`, ""},
		"claim": {`{volume: {claimName: c}, encryption: {recipients: [KEY]}}`, `is no PersistentVolumeClaim "c"`, ""},
		"data": {`{volume: {claimName: data-shop-0}, encryption: {recipients: [KEY]}}`,
			`PersistentVolumeClaim "data-shop-0" belongs to the cluster "shop"`, ""},
		"the-host": {`{gcs: {bucket: bbb}, encryption: {recipients: [KEY]}}`, "credentials, or a serviceAccountName", ""},
		"good": {`{s3: {bucket: bbb, credentials: {secretName: s3}}, encryption: {recipients: [KEY]}}`, "",
			"good-store-galera"},
		"rights": {`{s3: {bucket: bbb}, serviceAccountName: admin, encryption: {recipients: [KEY]}}`,
			`Jobs run only under ServiceAccounts whose names end in -galera`, ""},
		"default": {`{s3: {bucket: bbb}, serviceAccountName: default, encryption: {recipients: [KEY]}}`,
			`Jobs run only under ServiceAccounts whose names end in -galera`, ""},
		"no-such-account": {`{s3: {bucket: bbb}, serviceAccountName: no-galera, encryption: {recipients: [KEY]}}`,
			`is no ServiceAccount "no-galera"`, ""},
		"taken": {`{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			`ServiceAccount "taken-store-galera" belongs to another owner`, ""},
		"cloud": {`{s3: {bucket: bbb}, serviceAccountName: cloud-galera, encryption: {recipients: [KEY]}}`, "",
			"cloud-galera"},
		"allowed": {`{s3: {bucket: bbb}, serviceAccountName: backup, encryption: {recipients: [KEY]}}`, "", "backup"},
	} {
		t.Run(name, func(t *testing.T) {
			u := backupKind(t, "GaleraBackupStore", name, tc.spec)
			u.SetNamespace(ns)
			must(t, kube.Create(ctx, u))
			for range 2 { // the intent, then the act
				_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(u)})
				must(t, err)
			}
			var s v1alpha1.GaleraBackupStore
			must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), &s))
			c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
			var jobs batchv1.JobList
			must(t, kube.List(ctx, &jobs, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelStore: name}))
			switch {
			case tc.want == "" && len(jobs.Items) != 1:
				t.Errorf("%d Jobs, %+v", len(jobs.Items), c)
			case tc.want != "" && (len(jobs.Items) != 0 || c == nil || c.Reason != v1alpha1.ReasonStoreRefused ||
				!strings.Contains(c.Message, tc.want)):
				t.Errorf("%d Jobs, %+v", len(jobs.Items), c)
			case tc.want == "":
				pod := jobs.Items[0].Spec.Template.Spec
				if pod.ServiceAccountName != tc.account || pod.AutomountServiceAccountToken == nil ||
					*pod.AutomountServiceAccountToken {
					t.Errorf("the Job runs under %s, want %s", pod.ServiceAccountName, tc.account)
				}
				must(t, kube.Get(ctx, client.ObjectKey{Namespace: ns, Name: tc.account}, &corev1.ServiceAccount{}))
			}
		})
	}
}
