// Package command is `kubectl galera bench`: reports of benchmarks, with the rights of the person who calls it.
package command

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/advice"
	"github.com/galera-operator/galera-operator/internal/bench/report"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/version"
)

// env is shared by all commands.
type env struct {
	flags *genericclioptions.ConfigFlags
	out   io.Writer
}

// New returns the command.
func New(out io.Writer) *cobra.Command {
	e := &env{flags: genericclioptions.NewConfigFlags(true), out: out}
	c := &cobra.Command{Use: "kubectl-galera-bench",
		Short: "Report benchmarks, and read a policy out of one",
		// kubectl calls kubectl-galera-bench; people see what they type.
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl galera bench"},
		SilenceUsage: true, SilenceErrors: true, Version: version.Version,
	}
	c.SetOut(out)
	c.SetVersionTemplate("{{.Version}}\n")
	e.flags.AddFlags(c.PersistentFlags())
	var format string
	on := func(use, short string, run func(report.Benchmark) error) *cobra.Command {
		return &cobra.Command{Use: use + " NAME|FILE.json", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, names []string) error {
				b, err := e.read(cmd.Context(), names[0])
				if err != nil {
					return err
				}
				return run(b)
			}}
	}
	written := on("report", "Write the report of a benchmark, or of one that was written as json",
		func(b report.Benchmark) error { return report.Write(cleaned{e.out}, format, b) })
	advised := on("recommend", "Write which policy the results of a benchmark are for, in words and YAML",
		func(b report.Benchmark) error {
			lines, err := advice.For(b.Resource, b.Records)
			if err != nil {
				return err
			}
			return advice.Write(cleaned{e.out}, b.Resource, lines)
		})
	written.Flags().StringVarP(&format, "output", "o", "table", "table, md, json, csv or svg")
	c.AddCommand(written, advised)
	return c
}

// read reads a benchmark from the cluster, or from a file whose name ends with .json.
func (e *env) read(ctx context.Context, name string) (report.Benchmark, error) {
	if strings.HasSuffix(name, ".json") {
		file, err := os.Open(name)
		if err != nil {
			return report.Benchmark{}, err
		}
		defer func() { _ = file.Close() }()
		return report.Read(file)
	}
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return report.Benchmark{}, err
	}
	namespace, _, err := e.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return report.Benchmark{}, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return report.Benchmark{}, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return report.Benchmark{}, err
	}
	return load(ctx, kube, client.ObjectKey{Namespace: namespace, Name: name})
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
		if r, _, ok := result.ReadRecord(cm.Data); ok && r.Index > 0 { // without a verdict it does not count
			out.Records = append(out.Records, r)
		}
	}
	return out, nil
}

// cleaned drops control characters of text that others have written, which would change colours or titles.
type cleaned struct{ to io.Writer }

func (c cleaned) Write(text []byte) (int, error) {
	_, err := io.WriteString(c.to, Printable(string(text)))
	return len(text), err
}

// Printable returns text without characters that control a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.Is(unicode.C, r), unicode.In(r, unicode.Zl, unicode.Zp), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}
