// Package plugin is `kubectl galera`: what a person does to a cluster and wants to know of it, with the rights of that
// person.
package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/screen"
	"github.com/galera-operator/galera-operator/internal/version"
)

// env is shared by all commands. A type that embeds it is a command, or a few that belong together.
type env struct {
	flags    *genericclioptions.ConfigFlags
	out, err io.Writer
	// kube and namespace are known once connect was called.
	kube      client.WithWatch
	namespace string
}

// New returns the root command.
func New(out, errOut io.Writer) *cobra.Command {
	e := &env{flags: genericclioptions.NewConfigFlags(true), out: out, err: errOut}
	root := &cobra.Command{
		Use: "kubectl-galera", Short: "See and operate encrypted MariaDB Galera clusters",
		Long: "See and operate encrypted MariaDB Galera clusters.\n\nEvery command acts with your own rights, and changes " +
			"objects of the Kubernetes API. cutover also makes the server that is followed read-only.",
		// kubectl calls kubectl-galera; people see what they type.
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl galera"},
		SilenceUsage: true, SilenceErrors: true, Version: version.Version,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetVersionTemplate("{{.Version}}\n")
	e.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(overview{e}.status(), encryption{e}.tls(), atRestKeys{e}.command(),
		backups{e}.backup(), backups{e}.backups(),
		restores{e}.restore(), connection{e}.connectCommand(),
		logs{e}.logs(), recovery{e}.recover(), requests{e}.promote(), requests{e}.restart(),
		imports{e}.importCommand(), cutovers{e}.command(), sites{e, &env{}}.command(), sidecars{e}.command(),
		bundles{e}.report())
	root.AddCommand(switches{e}.switches()...)
	return root
}

// connect makes the client, and finds the namespace.
func (e *env) connect() error {
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return err
	}
	if e.namespace, _, err = e.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	e.kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// pods returns the client for what is read from pods: logs, and ports.
func (e *env) pods() (*rest.Config, *kubernetes.Clientset, error) {
	config, err := e.flags.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	set, err := kubernetes.NewForConfig(config)
	return config, set, err
}

// cluster reads one.
func (e *env) cluster(ctx context.Context, name string) (*v1alpha1.GaleraCluster, error) {
	c := &v1alpha1.GaleraCluster{}
	return c, e.kube.Get(ctx, e.key(name), c)
}

func (e *env) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: e.namespace, Name: name}
}

// style is how a screen is drawn: with colours on a terminal only, and as wide as that is.
func (e *env) style() screen.Style {
	s := screen.Style{Width: 100, Now: time.Now()}
	file, ok := e.out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) { //nolint:gosec // descriptors are small
		return s
	}
	s.Colour = os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 { //nolint:gosec // descriptors are small
		s.Width = width
	}
	return s
}

// say reports a person something, without control characters that others may have put into it.
func (e *env) say(format string, args ...any) {
	_, _ = fmt.Fprintln(e.err, screen.Lines(fmt.Sprintf(format, args...)))
}

// clusterNames completes the first argument.
func (e *env) clusterNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || e.connect() != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all v1alpha1.GaleraClusterList
	if e.kube.List(cmd.Context(), &all, client.InNamespace(e.namespace)) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range all.Items {
		names = append(names, c.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// onCluster is a command whose argument is a cluster's name.
func (e *env) onCluster(use, short string, run func(ctx context.Context, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: e.clusterNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.connect(); err != nil {
				return err
			}
			return run(cmd.Context(), args[0])
		},
	}
}
