package plugin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

// recovery is the command recover.
type recovery struct{ *env }

// recover shows what is known of a cluster that waits for a person, and gives the approval it asks for.
func (e recovery) recover() *cobra.Command {
	var approve, yes, follow bool
	var format string
	c := e.onCluster("recover",
		"Show what is known of a cluster that cannot start by itself, and approve what it asks for",
		func(ctx context.Context, name string) error {
			if err := e.show(ctx, name, format, follow && !approve, e.recovery()); err != nil || !approve {
				return err
			}
			c, err := e.cluster(ctx, name)
			if err != nil {
				return err
			}
			patch, err := approval(c)
			if err != nil {
				return err
			}
			if !yes && !e.confirmed(os.Stdin, "Type the name of the cluster to approve this: ", name) {
				return fmt.Errorf("nothing was changed")
			}
			return e.change(ctx, c, patch)
		})
	outputFlag(c, &format)
	watchFlag(c, &follow)
	c.Flags().BoolVar(&approve, "approve", false, "give the approval that the cluster asks for, after a question")
	c.Flags().BoolVar(&yes, "yes", false, "with --approve: do not ask")
	return c
}

// recovery is what recover shows.
func (e recovery) recovery() screenful {
	return screenful{
		text: func(c *v1alpha1.GaleraCluster) string { return screen.Recovery(c, e.style()) },
		value: func(c *v1alpha1.GaleraCluster) any {
			out := map[string]any{"cluster": c.Name, "namespace": c.Namespace, "members": c.Status.Members,
				"noPrimarySince": c.Status.NoPrimarySince,
				"operation":      c.Status.Operation, "requiredActions": c.Status.RequiredActions, "stalled": condition(c,
					v1alpha1.ConditionStalled),
				"quorumHealthy": condition(c, v1alpha1.ConditionQuorumHealthy)}
			if patch, err := approval(c); err == nil {
				out["approval"] = patch
			}
			return out
		},
	}
}

// approval is the patch of spec.recovery.approval, and of nothing else, that the cluster asks for. It names the facts
// it is about: if they have changed, the operator refuses it.
func approval(c *v1alpha1.GaleraCluster) (map[string]any, error) {
	for _, a := range c.Status.RequiredActions {
		if a.Approval == nil {
			continue
		}
		approval, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a.Approval)
		if err != nil {
			return nil, err
		}
		return map[string]any{"spec": map[string]any{"recovery": map[string]any{"approval": approval}}}, nil
	}
	if len(c.Status.RequiredActions) > 0 {
		a := c.Status.RequiredActions[0]
		return nil, fmt.Errorf("%s asks for no approval. It asks for something else: %s: %s", c.Name, a.Reason,
			screen.Plain(a.Message))
	}
	return nil, fmt.Errorf("%s asks for nothing", c.Name)
}

func (e *env) confirmed(in io.Reader, question, want string) bool {
	_, _ = fmt.Fprint(e.err, question)
	line, _ := bufio.NewReader(in).ReadString('\n')
	return strings.TrimSpace(line) == want
}
