package api

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestSupersededWhileSettingsAreRefused: the nodes are to refuse writes once another cluster has taken over, also while
// the operator publishes nothing else because of a setting that is forbidden.
func TestSupersededWhileSettingsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, "held-back", spec())
	w.bringUp()
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep-cluster-address": {Text: "gcomm://"}}
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True ForbiddenSetting"))
	before := w.revision()
	w.Eventually(func() error {
		c := &v1alpha1.GaleraCluster{}
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(w.cluster), c))
		c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb", Namespace: "site", Name: "standby",
			UID: "bbbbbbbb-1", GTID: "0-1-9"}
		return kube.Status().Update(ctx, c)
	}).Should(Succeed())
	w.Eventually(func() (n agentapi.NodeConfig) {
		cm := &corev1.ConfigMap{}
		must(t, w.get(cm, "shop-config"))
		must(t, json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &n))
		return n
	}).Should(And(HaveField("Refuse", true), HaveField("Refusal.SupersededBy", ContainSubstring("1-bbbbbbbb")),
		HaveField("Revision", Not(Equal(before))), HaveField("Settings", BeEmpty())))
	w.Eventually(w.condition("Stalled")).Should(Equal("True Superseded"))
}
