package plugin

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
	"github.com/galera-operator/galera-operator/internal/version"
)

func (e *env) status() *cobra.Command {
	var format string
	var follow bool
	c := e.onCluster("status", "Show a cluster on one screen: what is wrong, and what to do", func(ctx context.Context, name string) error {
		e.tellSkew(ctx, name)
		return e.show(ctx, name, format, follow, screenful{text: func(c *v1alpha1.GaleraCluster) string {
			return screen.Cluster(c, e.backupsOf(ctx, name), e.style())
		}})
	})
	outputFlag(c, &format)
	watchFlag(c, &follow)
	return c
}

func watchFlag(c *cobra.Command, follow *bool) {
	c.Flags().BoolVarP(follow, "watch", "w", false, "show it again at every change")
}

// backupsOf are the backups of a cluster, the latest first. Without the right to read them the screen goes without, and says so once.
func (e *env) backupsOf(ctx context.Context, name string) []v1alpha1.GaleraBackup {
	var all v1alpha1.GaleraBackupList
	if err := e.kube.List(ctx, &all, client.InNamespace(e.namespace)); err != nil {
		if !e.toldBackups && ctx.Err() == nil {
			e.toldBackups = true
			e.say("backups are not shown: %s", err)
		}
		return nil
	}
	of := slices.DeleteFunc(all.Items, func(b v1alpha1.GaleraBackup) bool { return b.Spec.ClusterRef.Name != name })
	slices.SortFunc(of, func(a, b v1alpha1.GaleraBackup) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return of
}

// tellSkew says that this plugin is of another release than the cluster's agents, which are their operator's.
func (e *env) tellSkew(ctx context.Context, name string) {
	if c, err := e.cluster(ctx, name); err == nil {
		if note := skew(version.Version, c); note != "" {
			e.say("%s", note)
		}
	}
}
