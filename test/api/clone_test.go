package api

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestCloneRefusals: what a clone lacks is reported, nothing of the source is copied meanwhile, and the clone goes on
// by itself when it is fixed.
func TestCloneRefusals(t *testing.T) {
	t.Parallel()
	t.Run("one thing after the other", func(t *testing.T) {
		w := newCloning(t, "clone-refusals")
		w.ask(w.prod)
		w.stalled(v1alpha1.ReasonStoreNotFound, `no GaleraBackupStore "own"`)
		w.makeStore()
		w.stalled(v1alpha1.ReasonWrongKey, `Secret "key"`)
		w.makeKey()
		w.stalled(v1alpha1.ReasonNamespaceNotAllowed, `add "`+w.dev+`" to its spec.allowedCloneNamespaces`)
		w.makeSource(w.prod)
		w.stalled(v1alpha1.ReasonNamespaceNotAllowed, `add "`+w.dev+`" to its spec.allowedCloneNamespaces`)
		w.serves(false)
		w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Spec.AllowedCloneNamespaces = []string{w.dev} })
		w.stalled(v1alpha1.ReasonWaitingForCluster, "does not accept writes")
		w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Spec.Hibernate = true })
		w.stalled(v1alpha1.ReasonWaitingForCluster, "hibernates")
		w.edit(w.source, func(c *v1alpha1.GaleraCluster) {
			c.Spec.Hibernate = false
			c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		})
		w.stalled(v1alpha1.ReasonClusterPaused, "is paused")
		w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Annotations = nil })
		w.edit(w.clone, func(c *v1alpha1.GaleraCluster) { c.Spec.Image = "mariadb:10.11" })
		w.serves(true)
		w.stalled(v1alpha1.ReasonVersionRefused, "MariaDB 11.8.9")
		w.edit(w.clone, func(c *v1alpha1.GaleraCluster) { c.Spec.Image = "" })
		w.storeIs(false, v1alpha1.ReasonStoreUnreachable, "no such host")
		w.stalled(v1alpha1.ReasonStoreUnreachable, "such host")
		if len(w.admitted) > 0 || w.backup() != nil {
			t.Errorf("something was begun: %v, %+v", w.admitted, w.backup())
		}
		w.storeIs(true, v1alpha1.ReasonReachable, "")
		w.copies()
		w.onlyForItsJob()
	})
	t.Run("in the own namespace, which needs no consent", func(t *testing.T) {
		w := newCloning(t, "clone-own")
		w.makeStore()
		w.makeKey()
		w.ask("")
		w.stalled(v1alpha1.ReasonClusterNotFound, `no GaleraCluster "shop" in this namespace`)
		w.edit(w.clone, func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom.Cluster.Name = "copy" })
		w.stalled(v1alpha1.ReasonClusterNotFound, "names this cluster itself")
		w.edit(w.clone, func(c *v1alpha1.GaleraCluster) { c.Spec.BootstrapFrom.Cluster.Name = "shop" })
		w.stop() // it would set the source's Available to False: the source has no pods here
		w.makeSource(w.dev)
		w.eventually("a copy", func() bool { b := w.backup(); return b != nil && b.Status.Phase != v1alpha1.BackupFailed })
	})
}

// onlyForItsJob: one Job, with the CA of the source and a key of its own; the agent admits that key for that backup.
func (w *cloning) onlyForItsJob() {
	w.Helper()
	b := w.backup()
	key := &corev1.Secret{}
	must(w.T, kube.Get(context.Background(), client.ObjectKey{Namespace: w.dev, Name: job.KeyName(b)}, key))
	if string(key.Data["ca.crt"]) != "the CA" || strings.Contains(string(key.Data["tls.key"]), "nodes") ||
		len(key.Data) != 3 {
		w.Errorf("the Job's key: %v", key.Data)
	}
	for _, a := range w.admitted {
		if a.ID != b.Status.ID {
			w.Errorf("admitted for %q, and the backup is %q", a.ID, b.Status.ID)
		}
	}
	jobs := w.jobs()
	task := jobs[0].Spec.Template.Spec.Containers[0].Env[0].Value
	for _, want := range []string{"shop-1.shop-nodes." + w.prod + ".svc", `"namespace":"` + w.prod + `"`,
		`"dir":"` + w.dev + `/copy/`} {
		if !strings.Contains(task, want) {
			w.Errorf("the Job's task lacks %s: %s", want, task)
		}
	}
}

// TestCloneConsentWithdrawn: before the copy is complete it is cut off, and removed; the clone goes on when there is
// consent again.
func TestCloneConsentWithdrawn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newCloning(t, "clone-withdrawn")
	w.makeStore()
	w.makeKey()
	w.makeSource(w.prod, w.dev)
	w.ask(w.prod)
	w.copies()
	first := w.backup()
	w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Spec.AllowedCloneNamespaces = nil })
	w.eventually("the Job is deleted, and what it has stored is to be removed", func() bool {
		for _, j := range w.jobs() {
			if j.Name == job.Name(first, 1) && j.DeletionTimestamp == nil {
				return false
			}
		}
		b := w.backup()
		return b == nil || b.DeletionTimestamp != nil
	})
	// The key is of no use any more; and while the Job's pod may write, nothing is removed yet.
	if err := kube.Get(ctx, client.ObjectKey{Namespace: w.dev, Name: job.KeyName(first)},
		&corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the key is still there: %v", err)
	}
	if _, found := w.find(job.RemoveName(first)); found {
		t.Error("the data are removed while the Job may still write")
	}
	w.gone(job.Name(first, 1)) // its pods, and so the Job, are gone
	w.eventually("a Job that removes the data", func() bool { _, found := w.find(job.RemoveName(first)); return found })
	w.end(job.RemoveName(first), `{}`)
	w.stalled(v1alpha1.ReasonNamespaceNotAllowed, "allowedCloneNamespaces")
	w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Spec.AllowedCloneNamespaces = []string{w.dev} })
	w.eventually("another copy", func() bool { b := w.backup(); return b != nil && b.UID != first.UID })
}

// TestCloneGoesOn: with a complete copy the volumes are filled, whatever becomes of the source; the copy cannot be
// removed meanwhile, and is once the clone is Ready.
func TestCloneGoesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newCloning(t, "clone-goes-on")
	w.makeStore()
	w.makeKey()
	w.makeSource(w.prod, w.dev)
	w.ask(w.prod)
	w.copies()
	b := w.backup()
	w.end(job.Name(b, 1), `{"backup": {"id": "`+b.Status.ID+`", "dir": "`+b.Status.Directory+
		`", "node": "shop-1", "position": "old:7"}}`)
	w.eventually("complete", func() bool { return w.backup().Status.Phase == v1alpha1.BackupCompleted })
	w.edit(w.source, func(c *v1alpha1.GaleraCluster) { c.Spec.AllowedCloneNamespaces = nil })
	must(t, kube.Delete(ctx, w.source))
	find := func() string {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.clone), w.clone))
		return job.FindName(w.clone)
	}
	w.eventually("a Job that checks the copy", func() bool { _, found := w.find(find()); return found })
	if j, _ := w.find(find()); !strings.Contains(j.Spec.Template.Spec.Containers[0].Env[0].Value,
		`"dir":"`+b.Status.Directory+`","id":"`+b.Status.ID) {
		t.Errorf("it looks for something else: %s", j.Spec.Template.Spec.Containers[0].Env[0].Value)
	}
	w.end(find(), `{"backup": {"id": "`+b.Status.ID+`", "dir": "`+b.Status.Directory+`", "position": "old:7"}}`)
	w.eventually("volumes are filled", func() bool {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.clone), w.clone))
		return w.clone.Status.Restore.Phase == v1alpha1.RestoreRestoring
	})
	must(t, kube.Delete(ctx, w.backup()))
	w.passes()
	if _, found := w.find(job.RemoveName(b)); found || w.backup() == nil {
		t.Error("the copy is removed while volumes are filled with it")
	}
	w.edit(w.clone, func(c *v1alpha1.GaleraCluster) {
		c.Status.Restore.Phase, c.Status.ClusterUUID = v1alpha1.RestoreCompleted, history
	})
	w.eventually("the copy is removed", func() bool { _, found := w.find(job.RemoveName(b)); return found })
}

// TestCloneTidies: the copy stays until the clone is Ready, and goes then.
func TestCloneTidies(t *testing.T) {
	t.Parallel()
	w := newCloning(t, "clone-tidies")
	w.makeStore()
	w.makeKey()
	w.makeSource(w.prod, w.dev)
	w.ask(w.prod)
	w.copies()
	w.edit(w.clone, func(c *v1alpha1.GaleraCluster) {
		c.Status.Restore.Phase, c.Status.ClusterUUID = v1alpha1.RestoreCompleted, history
	})
	w.passes()
	if b := w.backup(); b == nil || b.DeletionTimestamp != nil {
		t.Error("the copy is gone before the clone is Ready")
	}
	// Without its operator: that would report that there are no pods.
	ready := w.clone.DeepCopy()
	status.SetCondition(&ready.Status.Conditions, ready.Generation, v1alpha1.ConditionReady, true, "Ready", "")
	r := w.restores
	r.Client = readyClone{Client: kube, clone: ready}
	_, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(ready)})
	must(t, err)
	if b := w.backup(); b != nil && b.DeletionTimestamp == nil {
		t.Error("the copy stays for ever")
	}
}

// readyClone is a client that sees a clone as it is set.
type readyClone struct {
	client.Client
	clone *v1alpha1.GaleraCluster
}

func (r readyClone) Get(ctx context.Context, key client.ObjectKey, to client.Object, opts ...client.GetOption) error {
	if c, is := to.(*v1alpha1.GaleraCluster); is && key == client.ObjectKeyFromObject(r.clone) {
		r.clone.DeepCopyInto(c)
		return nil
	}
	return r.Client.Get(ctx, key, to, opts...)
}

// TestReachOfForgedBackups: a GaleraBackup that names a cluster elsewhere is refused, whatever its writer says of its
// owner, and the agents of that cluster are not even asked. Consent is given to clones alone.
func TestReachOfForgedBackups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newCloning(t, "forged")
	w.makeStore()
	w.makeKey()
	w.makeSource(w.prod, w.dev)
	another := backupKind(t, "GaleraBackupStore", "mine", `{s3: {bucket: bbb}, encryption: {recipients: [KEY]}}`)
	another.SetNamespace(w.dev)
	must(t, kube.Create(ctx, another))
	w.ask("elsewhere") // a clone of another cluster
	for name, change := range map[string]func(*v1alpha1.GaleraBackup){
		"no-owner":    func(b *v1alpha1.GaleraBackup) { b.OwnerReferences = nil },
		"of-a-clone":  func(*v1alpha1.GaleraBackup) {},
		"copy-clone":  func(*v1alpha1.GaleraBackup) {},
		"of-no-clone": func(b *v1alpha1.GaleraBackup) { b.OwnerReferences[0].UID = "none" },
		"to-mine":     func(b *v1alpha1.GaleraBackup) { b.Spec.StoreRef.Name = "mine" },
	} {
		b := clone.Backup(w.clone)
		b.Name, b.Spec.ClusterRef.Namespace, b.Spec.DeletionPolicy = name, w.prod, v1alpha1.BackupRetain
		change(b)
		must(t, kube.Create(ctx, b))
		for range 4 {
			_, err := w.backups.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			must(t, err)
		}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(b), b))
		s := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		if s == nil || s.Status != metav1.ConditionTrue || s.Reason != v1alpha1.ReasonNamespaceNotAllowed ||
			b.Status.ID != "" {
			t.Errorf("%s: %+v", name, b.Status)
		}
	}
	if len(w.agents.asked) > 0 || len(w.admitted) > 0 || len(w.jobs()) > 0 {
		t.Errorf("asked %v, admitted %v, %d Jobs", w.agents.asked, w.admitted, len(w.jobs()))
	}
}
