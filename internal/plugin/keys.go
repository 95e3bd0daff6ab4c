package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// errRotate is the answer to who asks for a rotation.
var errRotate = errors.New(`nothing was changed: keys are not rotated. MariaDB's file_key_management knows one version of
each key, and encrypts logs, undo and the system tablespace with key 1 always. What replaces the keys:
  with nothing in clear     a new cluster with keys of its own, filled through SQL; then the clients move
  with the data in clear    remove spec.encryption, wait until status.atRest.state is Off, and set it again with another
  meanwhile                 keysSecretRef
Another password for the same keys needs no restart. The steps of each are in docs/encryption.md#rotation-of-keys`)

// atRestKeys is the command keys.
type atRestKeys struct{ *env }

// command is kubectl galera keys NAME [rotate].
func (e atRestKeys) command() *cobra.Command {
	const rotate = "rotate"
	return &cobra.Command{
		Use: "keys NAME [rotate]", Short: "Show the keys of the encryption at rest, and which backups need them",
		Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{rotate}, cobra.ShellCompDirectiveNoFileComp
			}
			return e.clusterNames(cmd, args, to)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if args[1] != rotate {
					return fmt.Errorf("there is no action %q: rotate", args[1])
				}
				return errRotate
			}
			if err := e.connect(); err != nil {
				return err
			}
			return e.show(cmd.Context(), args[0])
		},
	}
}

func (e atRestKeys) show(ctx context.Context, name string) error {
	c, err := e.cluster(ctx, name)
	if err != nil {
		return err
	}
	var backups v1alpha1.GaleraBackupList
	if err := e.kube.List(ctx, &backups, client.InNamespace(e.namespace)); err != nil {
		e.say("which backups need a key is not shown: %s", err)
	}
	_, err = fmt.Fprint(e.out, keysTable(c, backups.Items))
	return err
}

// keysTable has a line for each key that the data of a cluster, or a backup of it that is kept, are encrypted with. It
// is pure.
func keysTable(c *v1alpha1.GaleraCluster, backups []v1alpha1.GaleraBackup) string {
	needs := map[v1alpha1.EncryptionKeyStatus][]string{}
	secret, state := "", "Off"
	if s := c.Status.AtRest; s != nil {
		secret, state = s.SecretName, s.State
		for _, k := range s.Keys {
			needs[k] = nil
			if c.NodesHaveKeys() {
				needs[k] = []string{"the data"}
			}
		}
	}
	for i := range backups {
		namespace, name := backups[i].Source()
		if namespace != c.Namespace || name != c.Name {
			continue
		}
		for _, k := range backups[i].Status.EncryptionKeys {
			needs[k] = append(needs[k], "backup "+backups[i].Name)
		}
	}
	out := fmt.Sprintf("Encryption at rest of %s: %s\n", c.Name, state)
	if len(needs) == 0 {
		return out + "No key is recorded, and no backup needs one.\n"
	}
	if secret != "" {
		out += fmt.Sprintf("The keys are in the Secret %s. Who loses them loses what needs them.\n", secret)
	}
	for _, k := range slices.SortedFunc(maps.Keys(needs), func(a, b v1alpha1.EncryptionKeyStatus) int {
		return strings.Compare(a.ID+"\x00"+a.Fingerprint, b.ID+"\x00"+b.Fingerprint)
	}) {
		slices.Sort(needs[k])
		by := strings.Join(needs[k], ", ")
		if by == "" {
			by = "nothing that this namespace knows of"
		}
		out += fmt.Sprintf("key %-3s %s  needed by %s\n", k.ID, k.Fingerprint, by)
	}
	return out
}
