package plugin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// switches are the commands that change one field of a cluster.
type switches struct{ *env }

// switches are the commands that turn one thing of a cluster on or off.
func (e switches) switches() []*cobra.Command {
	annotate := func(value any) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPause: value}}}
	}
	hibernate := func(is bool) map[string]any { return map[string]any{"spec": map[string]any{"hibernate": is}} }
	return []*cobra.Command{
		e.simple("pause", "Keep the operator from acting on a cluster; it goes on observing", annotate("true"), nil),
		e.simple("unpause", "Let the operator act again", annotate(nil), nil),
		e.simple("hibernate", "Stop all nodes in good order, and keep their data", hibernate(true), ready),
		e.simple("resume", "Start a hibernated cluster with its data", hibernate(false), ready),
	}
}

// simple is a command that makes one change. done reports when it has taken effect; nil for at once.
func (e switches) simple(use, short string, patch map[string]any,
	done func(*v1alpha1.GaleraCluster) bool) *cobra.Command {
	var wait bool
	var timeout time.Duration
	var format string
	c := e.onCluster(use, short, func(ctx context.Context, name string) error {
		c, err := e.cluster(ctx, name)
		if err != nil {
			return err
		}
		if err := e.change(ctx, c, patch); err != nil {
			return err
		}
		if wait && done != nil {
			if err := e.settle(ctx, name, timeout, done); err != nil {
				return err
			}
		}
		if format != "" {
			return e.printObject(ctx, c, format)
		}
		return nil
	})
	outputFlag(c, &format)
	if done != nil {
		waitFlags(c, &wait, &timeout)
	}
	return c
}

func waitFlags(c *cobra.Command, wait *bool, timeout *time.Duration) {
	c.Flags().BoolVar(wait, "wait", false, "wait until it is done, and print what happens meanwhile")
	c.Flags().DurationVar(timeout, "timeout", 10*time.Minute, "how long to wait")
}
