package plugin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// requests are the commands promote and restart.
type requests struct{ *env }

// unseenFor is how long a request may stay unrecorded before that is reported.
const unseenFor = 30 * time.Second

// promote asks for another primary.
func (e requests) promote() *cobra.Command {
	c := e.request("promote NAME NODE", "Move the primary to another node", v1alpha1.RequestPromote,
		v1alpha1.AnnotationPrimary)
	c.Args = cobra.ExactArgs(2)
	c.Long = "Move the primary to another node.\n\nThe operator moves it once, as soon as the node is Synced and no " +
		"operation is in progress; later it may move on. A request that cannot be met is given up after ten minutes."
	return c
}

// restart asks for a rolling restart.
func (e requests) restart() *cobra.Command {
	c := e.request("restart NAME [NODE]", "Restart all nodes or one, one at a time, the primary last",
		v1alpha1.RequestRestart, v1alpha1.AnnotationRestart)
	c.Args = cobra.RangeArgs(1, 2)
	c.Long = "Restart mariadbd on all nodes, or on one.\n\nThe operator restarts one node at a time, while all others " +
		"are Synced and ready; the primary last, after it has moved. No maintenance window is waited for."
	return c
}

// request is a command that asks for something by annotation.
func (e requests) request(use, short, kind, annotation string) *cobra.Command {
	var wait bool
	var timeout time.Duration
	var format string
	c := &cobra.Command{
		Use: use, Short: short, ValidArgsFunction: e.nodeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			ctx := cmd.Context()
			c, err := e.cluster(ctx, args[0])
			if err != nil {
				return err
			}
			node := v1alpha1.AllNodes
			if len(args) > 1 {
				if node, err = nodeOf(c, args[1]); err != nil {
					return err
				}
			}
			token := time.Now().UTC().Format("20060102-150405")
			if err := e.change(ctx, c, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: node +
				"@" + token}}}); err != nil {
				return err
			}
			if wait {
				if err := e.awaitRequest(ctx, c.Name, kind, token, timeout); err != nil {
					return err
				}
			} else {
				e.say("requested: kubectl galera status %s", c.Name)
			}
			if format != "" {
				return e.printObject(ctx, c, format)
			}
			return nil
		},
	}
	outputFlag(c, &format)
	waitFlags(c, &wait, &timeout)
	return c
}

// nodeOf is a node by its name, or by its number.
func nodeOf(c *v1alpha1.GaleraCluster, named string) (string, error) {
	var names []string
	for _, m := range c.Status.Members {
		names = append(names, m.Name)
	}
	if _, err := strconv.ParseUint(named, 10, 8); err == nil {
		named = c.Name + "-" + named
	}
	if len(names) > 0 && !slices.Contains(names, named) {
		return "", fmt.Errorf("%s is not a node of %s: %s", named, c.Name, strings.Join(names, ", "))
	}
	return named, nil
}

func (e requests) awaitRequest(ctx context.Context, name, kind, token string, timeout time.Duration) error {
	began := time.Now()
	return e.await(ctx, timeout, task{
		cluster: name,
		poll: e.pollCluster(name, func(c *v1alpha1.GaleraCluster) (string, bool, error) {
			return requestLine(c, kind, token, time.Since(began))
		}),
		late:   "the request is not met yet",
		goesOn: "it stays in force: kubectl galera status " + name,
	})
}

// requestLine reports where a request stands, and whether that is its end. It is pure.
func requestLine(c *v1alpha1.GaleraCluster, kind, token string, waited time.Duration) (line string, done bool,
	err error) {
	i := slices.IndexFunc(c.Status.Requests, func(r v1alpha1.RequestStatus) bool {
		return r.Kind == kind &&
			r.Token == token
	})
	if i < 0 {
		if waited > unseenFor {
			return "", false,
				fmt.Errorf(
					"no operator has recorded the request for %s: it is not running, is of an earlier release that does not know "+
						"it, or another request has replaced it", waited.Round(time.Second))
		}
		return c.Name + ": waiting for the operator", false, nil
	}
	switch r := c.Status.Requests[i]; r.State {
	case v1alpha1.RequestPending:
		line = c.Name + ": " + r.Message
		if ready := condition(c, v1alpha1.ConditionReady); c.Status.Operation != nil && ready != nil {
			line += "; " + ready.Message
		}
		if c.Paused() {
			line += "; the cluster is paused: kubectl galera unpause " + c.Name
		}
		return line, false, nil
	case v1alpha1.RequestDone:
		return c.Name + ": " + r.Message, true, nil
	case v1alpha1.RequestExpired, v1alpha1.RequestCancelled:
		return "", true, fmt.Errorf("%s: %s", strings.ToLower(r.State), r.Message)
	default: // the word of a later release
		return fmt.Sprintf("%s: %s: %s", c.Name, r.State, r.Message), false, nil
	}
}

// nodeNames completes a cluster's name, then one of its nodes.
func (e requests) nodeNames(cmd *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.clusterNames(cmd, args, to)
	}
	var names []string
	if len(args) == 1 && e.connect() == nil {
		if c, err := e.cluster(cmd.Context(), args[0]); err == nil {
			for _, m := range c.Status.Members {
				names = append(names, m.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
