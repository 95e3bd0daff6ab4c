package harness

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scale does what kubectl scale does.
func (c *Cluster) Scale(ctx context.Context, replicas int32) error {
	have, err := c.Get(ctx)
	if err != nil {
		return err
	}
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	return c.Kube.SubResource("scale").Update(ctx, have, client.WithSubResourceBody(s))
}

// Runs identifies the run of every database container: the pod's UID, how often its container was
// restarted, and the name the running server has in the group, so that a restart of any kind shows.
func (c *Cluster) Runs(ctx context.Context) (map[string]string, error) {
	pods, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	cl, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			continue // on its way out
		}
		uid, err := cl.QueryPod(ctx, p.Name, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_GCOMM_UUID'")
		if err != nil {
			return nil, err
		}
		out[p.Name] = fmt.Sprintf("%s/%d/%s", p.UID, restarts(&p), uid)
	}
	return out, nil
}
