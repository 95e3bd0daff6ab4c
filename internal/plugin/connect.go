package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// session is run in the primary's pod: the password never leaves it. CONNECT_USER and CONNECT_HOST are its arguments.
const session = `if [ "$1" = root ]; then export MYSQL_PWD="$(cat /etc/galera-operator/root/password)"; else ask=-p; fi
exec mariadb -h "$2" -u "$1" $ask --ssl-ca=/etc/galera-operator/tls/ca.crt --ssl-verify-server-cert`

// connectCommand opens a session in the primary's pod.
func (e *env) connectCommand() *cobra.Command {
	var user string
	c := e.onCluster("connect", "Open a verified TLS session with the primary, from within its pod", func(ctx context.Context, name string) error {
		c, err := e.cluster(ctx, name)
		if err != nil {
			return err
		}
		if c.Status.Primary == "" {
			return fmt.Errorf("%s has no primary: kubectl galera status %s", name, name)
		}
		args := []string{"exec", "-it", "-n", e.namespace, c.Status.Primary, "-c", "mariadb"}
		for flag, value := range map[string]*string{"--context": e.flags.Context, "--kubeconfig": e.flags.KubeConfig} {
			if value != nil && *value != "" {
				args = append(args, flag, *value)
			}
		}
		kubectl := exec.CommandContext(ctx, "kubectl", append(args, "--", "sh", "-c", session, "sh", user, name+"-primary")...) //nolint:gosec // kubectl is what calls us
		kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = os.Stdin, os.Stdout, os.Stderr
		return kubectl.Run()
	})
	c.Flags().StringVarP(&user, "user", "u", "root", "account; every other than root is asked for its password")
	return c
}
