package plugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

// home moves the cursor to the beginning, and clears the screen.
const home = "\033[H\033[2J"

func (e *env) status() *cobra.Command {
	var format string
	var follow bool
	c := e.onCluster("status", "Show a cluster on one screen: what is wrong, and what to do", func(ctx context.Context, name string) error {
		if follow {
			return e.follow(ctx, name)
		}
		return e.showStatus(ctx, name, format)
	})
	c.Flags().StringVarP(&format, "output", "o", "", "json or yaml. Default: a screen for people")
	c.Flags().BoolVarP(&follow, "watch", "w", false, "draw the screen again at every change")
	return c
}

func (e *env) showStatus(ctx context.Context, name, format string) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	if format != "" {
		return e.print(c, format)
	}
	_, err = fmt.Fprint(e.out, screen.Cluster(c, e.backupsOf(ctx, name), e.style()))
	return err
}

// backupsOf are the backups of a cluster, the latest first. Without the right to read them the screen goes without.
func (e *env) backupsOf(ctx context.Context, name string) []v1alpha1.GaleraBackup {
	var all v1alpha1.GaleraBackupList
	if e.kube.List(ctx, &all, client.InNamespace(e.namespace)) != nil {
		return nil
	}
	of := slices.DeleteFunc(all.Items, func(b v1alpha1.GaleraBackup) bool { return b.Spec.ClusterRef.Name != name })
	slices.SortFunc(of, func(a, b v1alpha1.GaleraBackup) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return of
}

// follow draws the screen at every change, until it is interrupted or the cluster is deleted.
func (e *env) follow(ctx context.Context, name string) error {
	if err := e.showStatus(ctx, name, ""); err != nil {
		return err
	}
	events, err := e.kube.Watch(ctx, &v1alpha1.GaleraClusterList{}, client.InNamespace(e.namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Deleted {
			return fmt.Errorf("the cluster %s was deleted", name)
		}
		if c, ok := event.Object.(*v1alpha1.GaleraCluster); ok {
			s := e.style()
			if s.Colour {
				_, _ = fmt.Fprint(e.out, home)
			}
			_, _ = fmt.Fprint(e.out, screen.Cluster(c, e.backupsOf(ctx, name), s))
		}
	}
	if ctx.Err() != nil {
		return nil // interrupted
	}
	return fmt.Errorf("the API server has ended the watch; run the command again")
}

// print writes an object, or a list of them, for programs.
func (e *env) print(o runtime.Object, format string) error {
	if one, is := o.(client.Object); is {
		one.SetManagedFields(nil)
	}
	if gvk, err := e.kube.GroupVersionKindFor(o); err == nil {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
	text, err := yaml.Marshal(o)
	if err == nil && format == "json" {
		text, err = yaml.YAMLToJSON(text)
		text = append(text, '\n')
	}
	if format != "json" && format != "yaml" {
		return fmt.Errorf("-o %s is not known: json or yaml", format)
	}
	if err != nil {
		return err
	}
	_, err = e.out.Write(text)
	return err
}
