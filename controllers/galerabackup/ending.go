package galerabackup

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/status"
)

// endTime is how long a Job may need to end before manual action is required.
const endTime = 2 * time.Minute

// atWork returns the backup's Job of a name, nil if there is none that may be at work. One that was just made counts.
func atWork(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup, name string) (*batchv1.Job, error) {
	o, err := outcome.Of(ctx, r.Live, b, name, r.Now())
	if err != nil || !o.Exists || o.Done || o.Foreign {
		return nil, err
	}
	j := &batchv1.Job{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, j); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return j, nil
}

// endJob deletes a Job, which stays to be seen until its pods are gone, and reports what a removal waits for: the pod
// of a host that is lost never goes by itself, and may be at work yet. The conditions of a backup that is not removed
// stay: it has failed, and nothing waits for its Job.
func endJob(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup, j *batchv1.Job) error {
	if err := ownership.Remove(ctx, r.Client, r.Live, b.UID, j,
		client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil || b.DeletionTimestamp == nil {
		return err
	}
	late := j.DeletionTimestamp != nil && r.Now().Sub(j.DeletionTimestamp.Time) > endTime
	text := fmt.Sprintf("waiting for the Job %s to end", j.Name)
	if late {
		held, err := heldBy(ctx, r.Live, j)
		if err != nil {
			return err
		}
		text += held
	}
	next := b.DeepCopy()
	status.SetProgress(&next.Status.Conditions, b.Generation, status.Progress{Working: true, Stalled: late,
		Reason: v1alpha1.ReasonRemovingBackup, Message: text})
	if equality.Semantic.DeepEqual(b.Status, next.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Update(ctx, next))
}

// heldBy names the pod that keeps a Job from being gone, and how to end it.
func heldBy(ctx context.Context, c client.Reader, j *batchv1.Job) (string, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(j.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
		return "", err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if metav1.IsControlledBy(p, j) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			return fmt.Sprintf(": its pod %s on the node %s does not go, and may still be at work. If that node is lost, make "+
				"sure that its host is off; then: kubectl delete pod %s -n %s --grace-period=0 --force", p.Name,
				p.Spec.NodeName, p.Name, p.Namespace), nil
		}
	}
	return fmt.Sprintf(": see kubectl describe job %s -n %s", j.Name, j.Namespace), nil
}
