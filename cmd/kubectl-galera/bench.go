package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/report"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// bench reads names benchmarks and writes a report of one, or a comparison of two.
func bench(ctx context.Context, args []string, names int) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	var namespace, kubeContext, kubeconfig, format string
	for _, name := range []string{"n", "namespace"} {
		fs.StringVar(&namespace, name, "", "namespace")
	}
	for _, name := range []string{"o", "output"} {
		fs.StringVar(&format, name, "table", "format")
	}
	fs.StringVar(&kubeContext, "context", "", "context")
	fs.StringVar(&kubeconfig, "kubeconfig", "", "file")
	fs.SetOutput(io.Discard)
	// Names may stand before, between and after flags.
	var given []string
	for len(args) > 0 {
		if !strings.HasPrefix(args[0], "-") {
			given, args = append(given, args[0]), args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			return fmt.Errorf("%w\n%s", err, usage)
		}
		args = fs.Args()
	}
	if len(given) != names {
		return fmt.Errorf("%d names are needed\n%s", names, usage)
	}
	kube, namespace, err := connect(kubeconfig, kubeContext, namespace)
	if err != nil {
		return err
	}
	var all []report.Benchmark
	for _, name := range given {
		b, err := load(ctx, kube, client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	if names == 2 {
		return report.Compare(os.Stdout, format, all[0], all[1])
	}
	return report.Write(os.Stdout, format, all[0])
}

func connect(kubeconfig, kubeContext, namespace string) (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	if namespace == "" {
		if namespace, _, err = loaded.Namespace(); err != nil {
			return nil, "", err
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, "", err
		}
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	return kube, namespace, err
}

// load reads a benchmark with all of its kept results.
func load(ctx context.Context, kube client.Client, key client.ObjectKey) (report.Benchmark, error) {
	out := report.Benchmark{Resource: &v1alpha1.GaleraBenchmark{}}
	if err := kube.Get(ctx, key, out.Resource); err != nil {
		return out, err
	}
	var maps corev1.ConfigMapList
	if err := kube.List(ctx, &maps, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.LabelBenchmark: key.Name}); err != nil {
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
