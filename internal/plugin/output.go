package plugin

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// home moves the cursor to the beginning, and clears the screen.
const home = "\033[H\033[2J"

// outputFlag is -o, "" for people.
func outputFlag(c *cobra.Command, format *string) {
	c.Flags().StringVarP(format, "output", "o", "", "json or yaml. Default: text for people")
	// the flag is there
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"},
		cobra.ShellCompDirectiveNoFileComp))
	before := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return known(*format)
	}
}

func known(format string) error {
	if format != "" && format != "json" && format != "yaml" {
		return fmt.Errorf("-o %s is not known: json or yaml", format)
	}
	return nil
}

// print writes a value for programs.
func (e *env) print(value any, format string) error {
	text, err := yaml.Marshal(value)
	if err == nil && format == "json" {
		if text, err = yaml.YAMLToJSON(text); err == nil {
			text = append(text, '\n')
		}
	}
	if err != nil {
		return err
	}
	_, err = e.out.Write(text)
	return err
}

// printObject prints an object as the API server has it: with fields that this plugin does not know, and without
// managed fields.
func (e *env) printObject(ctx context.Context, o client.Object, format string) error {
	return e.printWith(ctx, o, nil, format)
}

// printWith adds something to the object.
func (e *env) printWith(ctx context.Context, o client.Object, extra map[string]any, format string) error {
	gvk, err := e.kube.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if err := e.kube.Get(ctx, client.ObjectKeyFromObject(o), u); err != nil {
		return err
	}
	u.SetManagedFields(nil)
	maps.Copy(u.Object, extra)
	return e.print(u.Object, format)
}

// askEvery is how often a followed view is asked whether it is stale.
const askEvery = 10 * time.Second

// screenful draws a cluster for people, or as values for programs: the object itself unless value is set.
type screenful struct {
	text  func(*v1alpha1.GaleraCluster) string
	value func(*v1alpha1.GaleraCluster) any
	// extra is added to the object.
	extra func(*v1alpha1.GaleraCluster) map[string]any
	// stale reports whether something else than the cluster has changed since it was drawn.
	stale func(*v1alpha1.GaleraCluster) bool
}

// show prints a view of a cluster once, or at every change.
func (e *env) show(ctx context.Context, name, format string, follow bool, view screenful) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	if err := e.draw(ctx, c, format, view); err != nil || !follow {
		return err
	}
	events, err := e.kube.Watch(ctx, &v1alpha1.GaleraClusterList{}, client.InNamespace(e.namespace),
		client.MatchingFields{"metadata.name": name})
	if err != nil {
		return err
	}
	defer events.Stop()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if view.stale == nil || !view.stale(c) {
				continue
			}
		case event, open := <-events.ResultChan():
			if !open && ctx.Err() != nil {
				return nil // interrupted
			}
			if !open {
				return fmt.Errorf("the API server has ended the watch; run the command again")
			}
			if event.Type == watch.Deleted {
				return fmt.Errorf("the cluster %s was deleted", name)
			}
			changed, ok := event.Object.(*v1alpha1.GaleraCluster)
			if !ok || changed.ResourceVersion == c.ResourceVersion {
				continue
			}
			c = changed
		}
		e.turn(format)
		if err := e.draw(ctx, c, format, view); err != nil {
			return err
		}
	}
}

// turn separates one view from the next.
func (e *env) turn(format string) {
	switch {
	case format == "yaml":
		_, _ = fmt.Fprintln(e.out, "---")
	case format == "" && e.style().Colour:
		_, _ = fmt.Fprint(e.out, home)
	case format == "":
		_, _ = fmt.Fprintln(e.out)
	}
}

func (e *env) draw(ctx context.Context, c *v1alpha1.GaleraCluster, format string, view screenful) error {
	switch {
	case format == "":
		_, err := fmt.Fprint(e.out, view.text(c))
		return err
	case view.value != nil:
		return e.print(view.value(c), format)
	case view.extra != nil:
		return e.printWith(ctx, c, view.extra(c), format)
	}
	return e.printObject(ctx, c, format)
}
