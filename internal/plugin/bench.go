package plugin

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/advice"
	"github.com/galera-operator/galera-operator/internal/bench/report"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// benchmarks is the command bench.
type benchmarks struct{ *env }

// bench has the reports of benchmarks.
func (e benchmarks) bench() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Report and compare benchmarks, and read a policy out of one"}
	var format string
	one := &cobra.Command{
		Use: "report NAME|FILE.json", Short: "Write the report of a benchmark, or of one that was written as json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := e.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			return report.Write(e.printable(format), format, all[0])
		},
	}
	two := &cobra.Command{
		Use: "compare A B", Short: "Compare what two benchmarks, or their reports as json, have measured",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := e.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			return report.Compare(e.printable(format), format, all[0], all[1])
		},
	}
	advise := &cobra.Command{
		Use: "recommend NAME|FILE.json", Short: "Say which policy the results of a benchmark are for, in words and YAML",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := e.load(cmd.Context(), args)
			if err != nil {
				return err
			}
			a, err := advice.For(all[0].Resource, all[0].Records)
			if err != nil {
				return err
			}
			return a.Write(e.printable(""), args[0])
		},
	}
	one.Flags().StringVarP(&format, "output", "o", "table", "table, md, html, json, csv, png or svg")
	two.Flags().StringVarP(&format, "output", "o", "table", "table, md or html")
	c.AddCommand(one, two, advise)
	return c
}

func (e benchmarks) load(ctx context.Context, names []string) (out []report.Benchmark, err error) {
	for _, name := range names {
		b, err := e.read(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// read reads a benchmark from the cluster, or from a file whose name ends with .json.
func (e benchmarks) read(ctx context.Context, name string) (report.Benchmark, error) {
	if strings.HasSuffix(name, ".json") {
		file, err := os.Open(name)
		if err != nil {
			return report.Benchmark{}, err
		}
		defer func() { _ = file.Close() }()
		return report.Read(file)
	}
	if err := e.connect(); err != nil {
		return report.Benchmark{}, err
	}
	return load(ctx, e.kube, e.key(name))
}

// load reads a benchmark with all of its kept results.
func load(ctx context.Context, kube client.Client, key client.ObjectKey) (report.Benchmark, error) {
	out := report.Benchmark{Resource: &v1alpha1.GaleraBenchmark{}}
	if err := kube.Get(ctx, key, out.Resource); err != nil {
		return out, err
	}
	var maps corev1.ConfigMapList
	if err := kube.List(ctx, &maps, client.InNamespace(key.Namespace),
		client.MatchingLabels{v1alpha1.LabelBenchmark: key.Name}); err != nil {
		return out, err
	}
	for _, cm := range maps.Items {
		r := result.Record{Log: cm.Data[result.KeyLog]}
		if json.Unmarshal([]byte(cm.Data[result.KeyRun]), &r.Run) != nil || r.Index == 0 {
			continue
		}
		_ = json.Unmarshal([]byte(cm.Data[result.KeyVerdict]), &r.Verdict) // without one it does not count
		_ = json.Unmarshal([]byte(cm.Data[result.KeyPods]), &r.Pods)       // of a run that was not judged they are not known
		o := &result.Output{}
		if json.Unmarshal([]byte(cm.Data[result.KeyOutput]), o) == nil {
			r.Output = o
		}
		out.Records = append(out.Records, r)
	}
	return out, nil
}
