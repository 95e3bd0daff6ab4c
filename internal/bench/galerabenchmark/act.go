package galerabenchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// actionName is the action's own name.
func actionName(a experiment.Action) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "experiment.")
}

// actBenchmark carries out one action. Every one may be repeated.
func (r *Reconciler) actBenchmark(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	a experiment.Action) error {
	switch a := a.(type) {
	case experiment.MakeCluster:
		return r.makeCluster(ctx, b, a.Run)
	case experiment.ChangeCluster:
		return r.changeCluster(ctx, b, seen, a)
	case experiment.StartJob:
		return r.startJob(ctx, b, seen, a)
	case experiment.Request, experiment.TakePod, experiment.SwitchReplication, experiment.MakeBackup:
		return disturbance{r, seen}.act(ctx, a)
	case experiment.Judge:
		return r.judgeRun(ctx, b, seen, a.Record)
	case experiment.RemoveJob:
		// The Job goes last: while it is there, this is done again.
		if err := r.parts().removeParts(ctx, b, a.Name); err != nil {
			return err
		}
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: a.Name}}
		return ownership.Remove(ctx, r.Client, r.Live, b.UID, j, client.PropagationPolicy(metav1.DeletePropagationForeground))
	case experiment.RemoveCluster:
		return client.IgnoreNotFound(r.Delete(ctx, seen.Cluster))
	case experiment.Expire:
		return client.IgnoreNotFound(r.Delete(ctx, b))
	case experiment.Claim, experiment.Release:
		return r.patchCluster(ctx, seen.Cluster,
			func(c *v1alpha1.GaleraCluster) { mark(c, b.Name, a == experiment.Action(experiment.Claim{})) })
	case experiment.DropAccounts:
		return r.parts().dropAccounts(ctx, b)
	case experiment.GiveUp, experiment.Finish:
		return nil // are written into the status
	}
	return fmt.Errorf("no way to carry out %T", a)
}

func (r *Reconciler) makeCluster(ctx context.Context, b *v1alpha1.GaleraBenchmark, run experiment.Run) error {
	err := r.Create(ctx, objects.Cluster(b, run), client.FieldOwner(ownership.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: objects.ClusterName(b)}, have); err != nil {
		return err
	}
	if have.DeletionTimestamp == nil && !metav1.IsControlledBy(have, b) {
		return fmt.Errorf("the GaleraCluster %q exists and is not this benchmark's", have.Name)
	}
	return nil
}

// changeCluster gives the private cluster the spec of a run.
func (r *Reconciler) changeCluster(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	a experiment.ChangeCluster) error {
	if !private(seen) {
		return errNotPrivate
	}
	return r.patchCluster(ctx, seen.Cluster, func(c *v1alpha1.GaleraCluster) {
		c.Spec = experiment.Spec(*b.Spec.Cluster.Template, a.Run)
		if a.Rolling {
			c.Spec.TLS.SwitchStrategy = v1alpha1.SwitchRolling
		}
		objects.Accelerate(c, a.Run)
	})
}

// mark records on a referenced cluster which benchmark measures it.
func mark(c *v1alpha1.GaleraCluster, name string, is bool) {
	if !is {
		delete(c.Annotations, v1alpha1.AnnotationBenchmark)
		return
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[v1alpha1.AnnotationBenchmark] = name
}

// patchCluster changes exactly the version that was seen.
func (r *Reconciler) patchCluster(ctx context.Context, c *v1alpha1.GaleraCluster,
	change func(*v1alpha1.GaleraCluster)) error {
	next := c.DeepCopy()
	change(next)
	return r.Patch(ctx, next, client.MergeFromWithOptions(c, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(ownership.FieldOwner))
}

// startJob makes what a Job needs, and the Job last.
func (r *Reconciler) startJob(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	a experiment.StartJob) error {
	c := seen.Cluster
	output, err := objects.Output(b, c, a.Wire)
	if err != nil {
		return err
	}
	if err := ownership.Keep(ctx, r.Client, r.Live, b.UID, output); err != nil {
		return err
	}
	if err := r.parts().apply(ctx, b, objects.Access(b, output.Name)); err != nil {
		return err
	}
	images := r.Images
	if b.Spec.Client.Image != "" {
		images.Client = b.Spec.Client.Image
	}
	if a.Wire.Kind == result.KindCipher {
		images.Client = databaseImage(seen) // the library whose speed is asked for
	}
	plan := objects.Plan(b, c, a, r.Domain)
	if a.Wire.Kind == a.Run.Cell.Kind {
		if err := r.parts().makeWay(ctx, b, seen, a.Run.Cell, output.Name, &plan, &images); err != nil {
			return err
		}
	}
	job, err := objects.Job(b, c, a.Wire, plan, images)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, r.Client, r.Live, b.UID, job)
}

// judgeRun writes down whether an attempt counts, and the pods that took part: some may be elsewhere for the next one.
// The proof must still hold.
func (r *Reconciler) judgeRun(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	record result.Record) error {
	verdict := verdictOf(b, seen, record)
	text, err := json.Marshal(verdict)
	if err != nil {
		return err
	}
	pods, err := json.Marshal(tookPart(experiment.Name(b.Name, record.Run), seen.Pods))
	if err != nil {
		return err
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace,
		Name: experiment.Name(b.Name, record.Run)}}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]string{v1alpha1.LabelValid: strconv.FormatBool(verdict.Valid)}},
		"data":     map[string]string{result.KeyVerdict: string(text), result.KeyPods: string(pods)},
	})
	if err != nil {
		return err
	}
	return r.Patch(ctx, cm, client.RawPatch("application/merge-patch+json", patch))
}

func verdictOf(b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, record result.Record) result.Verdict {
	switch {
	case record.Output == nil:
		return result.Verdict{Reason: record.Reason}
	case record.Kind == result.KindPrepare:
		return result.Verdict{Valid: record.Output.Error == "", Reason: withLastLines(record.Output)}
	}
	limits := result.Limits{FailedPercent: 5, Writes: experiment.Writes(&b.Spec, record.Workload)}
	if b.Spec.MaxFailedPercent != nil {
		limits.FailedPercent = float64(*b.Spec.MaxFailedPercent)
	}
	v := result.Judge(record.Output, limits)
	switch v.Reason {
	case "":
	case record.Output.Error:
		v.Reason = withLastLines(record.Output)
	default:
		v.Reason = strings.TrimSuffix(v.Reason+"; "+withLastLines(record.Output), "; ")
	}
	if !v.Valid && seen.ProxyWords != "" {
		v.Reason += "; the proxy crashed: " + seen.ProxyWords
	}
	if o := record.Output.Operation; v.Valid && o != nil && o.Name == v1alpha1.OperationBackup {
		why := experiment.BackupProblem(seen.Backup)
		v = result.Verdict{Valid: why == "", Reason: why}
	}
	if v.Valid && seen.ProxyProblem != "" {
		v = result.Verdict{Reason: "after the run the encryption of the proxy was not proved any more: " + seen.ProxyProblem}
	}
	if v.Valid && seen.Cluster != nil {
		if why := provedAfter(seen.Cluster, record.Output); why != "" {
			v = result.Verdict{Reason: "after the run the encryption was not proved any more: " + why}
		}
	}
	return v
}

// provedAfter returns what is not proved after a run, "" when all is. Of a full copy the TLS that was observed must
// be the arm's, too.
func provedAfter(c *v1alpha1.GaleraCluster, o *result.Output) string {
	why := experiment.Proof(c)
	switch {
	case why != "":
		return why
	case o.Transfer != nil:
		return experiment.Copied(c, o.Transfer.Victim)
	case o.Operation != nil && o.Operation.Name == v1alpha1.OperationJoinSST:
		return experiment.Copied(c, o.Operation.Node)
	}
	return ""
}

// withLastLines adds what the load generator said last.
func withLastLines(o *result.Output) string {
	if o.Error == "" || len(o.LastLines) == 0 {
		return o.Error
	}
	return o.Error + "; the last lines were: " + strings.Join(o.LastLines, " / ")
}

// databaseImage is the image that the cluster's nodes run.
func databaseImage(seen benchmarkFacts) string {
	for _, p := range seen.Pods {
		for _, c := range p.Spec.Containers {
			if c.Name == cluster.Container {
				return c.Image
			}
		}
	}
	return seen.Cluster.Spec.Image
}
