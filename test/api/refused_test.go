package api

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/controllers/galerabackupstore"
	"github.com/galera-operator/galera-operator/controllers/galeradatabase"
	"github.com/galera-operator/galera-operator/controllers/galerauser"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestRefusedInSystemNamespaces: a resource in a namespace that the policies close to the operator has a condition with
// the policy's words, and is not tried again at once.
func TestRefusedInSystemNamespaces(t *testing.T) {
	c, now := policedClient(t, operatorName), time.Now
	recorder, jobs := events.NewFakeRecorder(100), job.Options{Image: "operator"}
	for kind, tc := range map[string]struct {
		spec string
		by   reconcile.Reconciler
	}{
		"GaleraUser": {`{clusterRef: {name: shop}}`, &galerauser.Reconciler{Client: c, Now: now, Events: recorder,
			Calls: &calls.Calls[observe.Target, agentapi.SQLUser, agentapi.SQLResult]{}}},
		"GaleraDatabase": {`{clusterRef: {name: shop}}`, &galeradatabase.Reconciler{Client: c, Events: recorder,
			Calls: &calls.Calls[observe.Target, agentapi.SQLDatabase, agentapi.SQLResult]{}}},
		"GaleraBackup": {`{clusterRef: {name: shop}, storeRef: {name: x}, deletionPolicy: Delete}`,
			&galerabackup.Reconciler{Client: c, Live: c, Jobs: jobs, Events: recorder, Now: now, Today: now,
				Calls: admitsAll()}},
		"GaleraBackupStore": {`{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`,
			&galerabackupstore.Reconciler{Client: c, Live: c, Jobs: jobs, Now: now}},
	} {
		t.Run(kind, func(t *testing.T) { expectRefusal(t, kind, tc.spec, tc.by) })
	}
}

// expectRefusal has a resource in a system namespace reconciled.
func expectRefusal(t *testing.T, kind, spec string, by reconcile.Reconciler) {
	t.Helper()
	ctx, w := context.Background(), NewWithT(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-refused"}}
	must(t, client.IgnoreAlreadyExists(kube.Create(ctx, ns)))
	o := backupKind(t, kind, "refused", spec)
	o.SetNamespace(ns.Name)
	must(t, kube.Create(ctx, o))
	result, err := by.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(BeNumerically(">=", 10*time.Second))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	w.Expect(kube.Get(ctx, client.ObjectKeyFromObject(o), u)).To(Succeed())
	text, err := yaml.Marshal(u.Object["status"])
	must(t, err)
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	must(t, yaml.Unmarshal(text, &status))
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	w.Expect(stalled).NotTo(BeNil())
	w.Expect([]string{string(stalled.Status), stalled.Reason}).To(Equal([]string{"True", "AdmissionRefused"}))
	w.Expect(stalled.Message).To(ContainSubstring("use a namespace of your own"))
}
