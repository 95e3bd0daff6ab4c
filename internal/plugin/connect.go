package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// connection is the command connect.
type connection struct{ *env }

const databasePort = 3306

// session is run in the primary's pod: the password never leaves it. The account and the host are its arguments.
const session = `if [ "$1" = root ]; then export MYSQL_PWD="$(cat /etc/galera-operator/root/password)"; else ask=-p; fi
exec mariadb -h "$2" -u "$1" $ask --ssl-ca=/etc/galera-operator/tls/ca.crt --ssl-verify-server-cert`

// connectCommand opens a session in the primary's pod, or from here.
func (e connection) connectCommand() *cobra.Command {
	var user string
	var local bool
	c := e.onCluster("connect", "Open a verified TLS session with the primary, from within its pod or from here",
		func(ctx context.Context, name string) error {
			c, err := e.cluster(ctx, name)
			if err != nil {
				return err
			}
			if c.Status.Primary == "" {
				return fmt.Errorf("%s has no primary: kubectl galera status %s", name, name)
			}
			if a := c.Spec.RootAccess; a != nil && a.Disabled && user == "root" {
				return fmt.Errorf(
					"root cannot log in to %s over the network (spec.rootAccess.disabled): name another account with --user", name)
			}
			if local {
				return e.connectLocally(ctx, c, user)
			}
			args := []string{"exec", "-it", "-n", e.namespace, c.Status.Primary, "-c", "mariadb"}
			for flag, value := range map[string]*string{"--context": e.flags.Context, "--kubeconfig": e.flags.KubeConfig} {
				if value != nil && *value != "" {
					args = append(args, flag, *value)
				}
			}
			return run(ctx, "kubectl", append(args, "--", "sh", "-c", session, "sh", user, name+"-primary")...)
		})
	c.Flags().StringVarP(&user, "user", "u", "root",
		"account; every other than root is asked for its password, as root is with --local")
	c.Flags().BoolVar(&local, "local", false,
		"run this machine's mariadb, through a port-forward; it asks for the password")
	return c
}

func run(ctx context.Context, program string, args ...string) error {
	c := exec.CommandContext(ctx, program,
		args...) //nolint:gosec // kubectl is what calls us, and mariadb is found like it
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

// connectLocally forwards a port of the primary's pod, and runs the client of this machine. The server's certificate
// has the name localhost, so the client verifies it as from anywhere else.
func (e connection) connectLocally(ctx context.Context, c *v1alpha1.GaleraCluster, user string) error {
	client, err := clientProgram()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kubectl-galera-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ca, err := e.writeCA(ctx, c.Name, dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	port, err := e.forward(ctx, c.Status.Primary)
	if err != nil {
		return err
	}
	e.say("%s of %s is at localhost:%d while this runs", c.Status.Primary, c.Name, port)
	return run(ctx, client, "--host=localhost", "--protocol=tcp", "--port="+strconv.Itoa(port), "--user="+user,
		"--password", "--ssl-ca="+ca, "--ssl-verify-server-cert")
}

func clientProgram() (string, error) {
	for _, name := range []string{"mariadb", "mysql"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "",
		errors.New("--local needs the program mariadb on this machine; without --local the one in the primary's pod is used")
}

// writeCA writes what verifies the server. It is public: the ConfigMap NAME-ca.
func (e connection) writeCA(ctx context.Context, name, dir string) (string, error) {
	cm := &corev1.ConfigMap{}
	if err := e.kube.Get(ctx, e.key(name+"-ca"), cm); err != nil {
		return "", fmt.Errorf("reading the CA: %w", err)
	}
	file := filepath.Join(dir, "ca.crt")
	return file, os.WriteFile(file, []byte(cm.Data["ca.crt"]), 0o600)
}

// forward makes the database port of a pod a port of this machine, until ctx ends.
func (e connection) forward(ctx context.Context, pod string) (int, error) {
	config, set, err := e.pods()
	if err != nil {
		return 0, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return 0, err
	}
	url := set.CoreV1().RESTClient().Post().Resource("pods").Namespace(e.namespace).Name(pod).SubResource("portforward").
		URL()
	ready := make(chan struct{})
	f, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost,
		url),
		[]string{"localhost"}, []string{fmt.Sprintf("0:%d", databasePort)}, ctx.Done(), ready, nil, e.err)
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- f.ForwardPorts() }()
	select {
	case err := <-ended:
		return 0, fmt.Errorf("forwarding a port of %s: %w", pod, err)
	case <-ready:
	}
	ports, err := f.GetPorts()
	if err != nil || len(ports) == 0 {
		return 0, fmt.Errorf("forwarding a port of %s: %w", pod, err)
	}
	return int(ports[0].Local), nil
}
