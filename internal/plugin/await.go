package plugin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

// pollInterval is how often a wait asks.
const pollInterval = time.Second

// absentAfter is when a wait asks whether an operator is at work.
const absentAfter = 5 * time.Second

// poll reports where a task stands: a line for people, and whether that is its end. An error ends it, too.
type poll func(ctx context.Context) (line string, done bool, err error)

// task is what a command waits for.
type task struct {
	// cluster is the one it is about.
	cluster string
	poll    poll
	// late describes what has not come about when the time is over, goesOn what becomes of it then.
	late, goesOn string
	// every is how often it is asked, pollInterval by default.
	every time.Duration
}

// await polls until a task is done, and reports what happens meanwhile. An API server that does not answer for a moment
// is asked again. Whether an operator is at work is asked once, after a while, and again when the time is over.
func (e *env) await(ctx context.Context, timeout time.Duration, t task) error {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun, asked, last := time.Now(), false, ""
	for {
		line, done, err := t.poll(within)
		if line != "" && line != last {
			last = line
			e.say("%s", line)
		}
		if err != nil || done {
			return err
		}
		if !asked && time.Since(begun) > absentAfter {
			asked = true
			if absent := e.noOperator(within, t.cluster); absent != "" {
				e.say("%s", absent)
			}
		}
		select {
		case <-time.After(cmp.Or(t.every, pollInterval)):
		case <-within.Done():
			return e.tooLate(ctx, timeout, t)
		}
	}
}

// tooLate is what a wait says whose time is over.
func (e *env) tooLate(ctx context.Context, timeout time.Duration, t task) error {
	ctx, cancel := context.WithTimeout(ctx, absentAfter)
	defer cancel()
	if absent := e.noOperator(ctx, t.cluster); absent != "" {
		return fmt.Errorf("after %s: %s; %s", timeout, t.late, absent)
	}
	return fmt.Errorf("after %s: %s; %s", timeout, t.late, t.goesOn)
}

// noOperator reports whether no operator is at work, and what to check; "" if one is, or if that cannot be known.
func (e *env) noOperator(ctx context.Context, cluster string) string {
	c, err := e.cluster(ctx, cluster)
	if err != nil {
		return ""
	}
	f := related.Operator(ctx, e.kube, c, time.Now())
	if f == nil {
		return ""
	}
	return f.Message + ": " + f.Command
}

// pollCluster returns a poll that reads a cluster, and has it judged.
func (e *env) pollCluster(name string, judge func(*v1alpha1.GaleraCluster) (string, bool, error)) poll {
	return func(ctx context.Context) (string, bool, error) {
		c, err := e.cluster(ctx, name)
		if err != nil {
			return "", false, forGood(err)
		}
		return judge(c)
	}
}

// settle waits until the operator has done what the spec asks for, and reports what it does meanwhile.
func (e *env) settle(ctx context.Context, name string, timeout time.Duration,
	done func(*v1alpha1.GaleraCluster) bool) error {
	return e.await(ctx, timeout, task{
		cluster: name,
		poll:    e.pollCluster(name, func(c *v1alpha1.GaleraCluster) (string, bool, error) { return settled(c, done) }),
		late:    name + " is not there yet",
		goesOn:  "the operator goes on: kubectl galera status " + name,
	})
}

// settled reports how far a cluster is from its spec. It is pure.
func settled(c *v1alpha1.GaleraCluster, done func(*v1alpha1.GaleraCluster) bool) (line string, is bool, err error) {
	ready, stalled := condition(c, v1alpha1.ConditionReady), condition(c, v1alpha1.ConditionStalled)
	switch {
	case ready == nil:
		return "", false, nil
	case ready.ObservedGeneration >= c.Generation && done(c):
		return c.Name + ": " + ready.Message, true, nil
	case stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.ObservedGeneration >= c.Generation:
		return "", false, fmt.Errorf("%s needs you: %s: %s", c.Name, stalled.Reason, stalled.Message)
	}
	if ready.Status == metav1.ConditionTrue { // it describes what was before, or the change goes on alongside it
		return c.Name + ": waiting for the operator", false, nil
	}
	return c.Name + ": " + ready.Reason + ": " + ready.Message, false, nil
}

func condition(c *v1alpha1.GaleraCluster, kind string) *metav1.Condition {
	return meta.FindStatusCondition(c.Status.Conditions, kind)
}

// ready reports whether a cluster is as its spec asks.
func ready(c *v1alpha1.GaleraCluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady)
}
