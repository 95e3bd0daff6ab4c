package plugin

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
	"github.com/galera-operator/galera-operator/internal/version"
)

// overview is the command status.
type overview struct{ *env }

func (e overview) status() *cobra.Command {
	var format string
	var follow bool
	c := e.onCluster("status", "Show a cluster on one screen: what is wrong, and what to do",
		func(ctx context.Context, name string) error {
			e.warnVersionSkew(ctx, name)
			return e.show(ctx, name, format, follow, e.whole(ctx))
		})
	outputFlag(c, &format)
	watchFlag(c, &follow)
	return c
}

// whole shows a cluster with what belongs to it.
func (e overview) whole(ctx context.Context) screenful {
	var shown related.Report
	judge := func(c *v1alpha1.GaleraCluster) related.Report {
		return related.Judge(c, related.Read(ctx, e.kube, c), time.Now())
	}
	return screenful{
		text: func(c *v1alpha1.GaleraCluster) string {
			shown = judge(c)
			return screen.Cluster(c, &shown, e.style())
		},
		extra: func(c *v1alpha1.GaleraCluster) map[string]any {
			shown = judge(c)
			return map[string]any{"related": shown}
		},
		stale: func(c *v1alpha1.GaleraCluster) bool {
			return !equality.Semantic.DeepEqual(shown, judge(c))
		},
	}
}

func watchFlag(c *cobra.Command, follow *bool) {
	c.Flags().BoolVarP(follow, "watch", "w", false, "show it again at every change")
}

// warnVersionSkew reports whether this plugin is of another release than the cluster's agents, which are their
// operator's.
func (e overview) warnVersionSkew(ctx context.Context, name string) {
	if c, err := e.cluster(ctx, name); err == nil {
		if note := skew(version.Version, c); note != "" {
			e.say("%s", note)
		}
	}
}
