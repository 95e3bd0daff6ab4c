package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
)

// logs is the command of that name.
type logs struct{ *env }

// longLine bounds a line that is read, in bytes.
const longLine = 1 << 20

// logs prints the logs of all nodes, one after the other in time.
func (e logs) logs() *cobra.Command {
	var since time.Duration
	var follow bool
	var format string
	c := e.onCluster("logs", "Print the logs of all nodes, in order of time",
		func(ctx context.Context, name string) error {
			var pods corev1.PodList
			if err := e.kube.List(ctx, &pods, client.InNamespace(e.namespace),
				client.MatchingLabels{v1alpha1.LabelCluster: name},
				client.HasLabels{v1alpha1.LabelRole}); err != nil {
				return err
			}
			if format != "" && format != "json" {
				return fmt.Errorf("-o %s is not known here: json, one object a line", format)
			}
			if len(pods.Items) == 0 {
				return fmt.Errorf("%s has no database pods: kubectl galera status %s", name, name)
			}
			_, set, err := e.pods()
			if err != nil {
				return err
			}
			o := corev1.PodLogOptions{Container: "mariadb", Timestamps: true, Follow: follow,
				SinceSeconds: new(int64(max(1, since/time.Second)))}
			if follow {
				return e.followLogs(ctx, set, pods.Items, o, e.lineOf(format))
			}
			return e.mergeLogs(ctx, set, pods.Items, o, e.lineOf(format))
		})
	c.Flags().StringVarP(&format, "output", "o", "", "json: one object a line. Default: text")
	c.Flags().DurationVar(&since, "since", time.Hour, "how far back")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	return c
}

// lineOf writes a line as the format asks.
func (e logs) lineOf(format string) func(logLine) error {
	if format != "json" {
		return func(l logLine) error {
			_, err := fmt.Fprintf(e.out, "%s  %s  %s\n", screen.Plain(l.at), l.node, screen.Lines(l.text))
			return err
		}
	}
	lines := json.NewEncoder(e.out)
	lines.SetEscapeHTML(false)
	return func(l logLine) error {
		var text any = l.text
		if raw := json.RawMessage(l.text); json.Valid(raw) { // an agent that writes JSON
			text = raw
		}
		return lines.Encode(map[string]any{"time": l.at, "node": l.node, "line": text})
	}
}

// logLine is one line of a node. Kubernetes puts the time before it.
type logLine struct{ at, node, text string }

func read(r io.Reader, node string, each func(logLine)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longLine)
	for lines.Scan() {
		at, text, _ := strings.Cut(lines.Text(), " ")
		each(logLine{at, node, text})
	}
	return lines.Err()
}

// merge orders lines by time; lines of one node stay in their order.
func merge(lines []logLine) {
	slices.SortStableFunc(lines, func(a, b logLine) int { return strings.Compare(a.at, b.at) })
}

func (e logs) mergeLogs(ctx context.Context, set kubernetes.Interface, pods []corev1.Pod, o corev1.PodLogOptions,
	write func(logLine) error) error {
	var all []logLine
	for _, p := range pods {
		stream, err := set.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &o).Stream(ctx)
		if err != nil {
			e.say("%s: %s", p.Name, err) // the others may report enough
			continue
		}
		err = read(stream, p.Name, func(l logLine) { all = append(all, l) })
		_ = stream.Close()
		if err != nil {
			e.say("%s: %s", p.Name, err)
		}
	}
	merge(all)
	for _, l := range all {
		if err := write(l); err != nil {
			return err
		}
	}
	return nil
}

// followLogs prints lines as they come, until it is interrupted or every pod has ended.
func (e logs) followLogs(ctx context.Context, set kubernetes.Interface, pods []corev1.Pod, o corev1.PodLogOptions,
	write func(logLine) error) error {
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, p := range pods {
		wait.Go(func() {
			stream, err := set.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &o).Stream(ctx)
			if err == nil {
				err = read(stream, p.Name, func(l logLine) {
					mu.Lock()
					defer mu.Unlock()
					_ = write(l)
				})
				_ = stream.Close()
			}
			if err != nil && ctx.Err() == nil {
				e.say("%s: %s", p.Name, err)
			}
		})
	}
	wait.Wait()
	return nil
}
