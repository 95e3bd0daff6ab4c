package galeracluster

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/status"
)

// reportTimeout bounds the calls to all agents, which answer from memory: an agent that does not answer delays no
// other.
const reportTimeout = 2 * time.Second

// reportPrimary reports to the agents which member is the primary: it is the last choice as a donor, and one that was
// it until a moment ago serves on until clients are sent to the new one. It reports, too, whether a proxy uses the
// member: one that is to stop serves until none does. An agent that could not be reached is asked again in the next
// pass.
func (r *Reconciler) reportPrimary(ctx context.Context, in status.Input, actErr error) {
	primary := primaryAfter(in, actErr)
	if primary == "" {
		return
	}
	key := client.ObjectKeyFromObject(in.Facts.Cluster)
	var proxies v1alpha1.GaleraProxyList
	listErr := r.Client.List(ctx, &proxies, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy)
	used := proxy.Used(key.Name, proxies.Items)
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for name, s := range in.Seen {
		target, followed := r.Agents.Target(key, name)
		p := agentapi.Primary{Name: primary, Proxied: used[name]}
		if listErr != nil { // it stays as it was
			p.Proxied = s.Report.Proxied
		}
		if !s.Live || s.Report.Primary == p.Name && s.Report.Proxied == p.Proxied || !followed {
			continue
		}
		all.Go(func() {
			if err := r.Agents.Client.ReportPrimary(ctx, target, p); err != nil {
				log.FromContext(ctx).V(1).Info("could not report the primary to an agent", "pod", name, "error", err.Error())
			}
		})
	}
}

// primaryAfter is where the primary's Service leads after this pass's act, "" when there has been no primary yet.
func primaryAfter(in status.Input, actErr error) string {
	if a, moved := in.Decision.Action.(plan.AssignRoles); moved && actErr == nil {
		return a.Primary
	}
	if in.Facts.Cluster.Status.Primary == "" {
		return ""
	}
	return observe.PrimaryPod(in.Facts)
}

// labelRoles lets the pods' labels follow the primary's Service, which has just changed when the role was moved.
func (r *Reconciler) labelRoles(ctx context.Context, in status.Input) error {
	if _, moved := in.Decision.Action.(plan.AssignRoles); moved {
		return nil
	}
	return r.Actor.LabelRoles(ctx, in.Facts)
}
