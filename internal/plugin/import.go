package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	jobtask "github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// imports is the command import.
type imports struct{ *env }

// checkTime bounds the check of a source.
const checkTime = 10 * time.Minute

// importFlags are the fields of spec.bootstrapFrom.external, and what the copy has to fit into.
type importFlags struct {
	host, credentials, ca, verify, size, version string
	port                                         int
	insecure, users, follow                      bool
	databases                                    []string
}

func (f *importFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.host, "host", "", "name or address of the source (required)")
	flags.IntVar(&f.port, "port", databasePort, "its port")
	flags.StringVar(&f.credentials, "credentials", "",
		"Secret of this namespace with the keys username and password (required)")
	flags.StringVar(&f.ca, "ca", "", "Secret of this namespace with the CA of the source's certificate, in the key ca.crt")
	flags.StringVar(&f.verify, "verify", v1alpha1.VerifyIdentity,
		"Identity: the certificate names the host; CA: any certificate of that CA")
	flags.BoolVar(&f.insecure, "insecure", false, "connect in clear text, without --ca")
	flags.StringSliceVar(&f.databases, "databases", nil, "databases to copy. Default: all but those of the system")
	flags.BoolVar(&f.users, "users", false, "copy accounts, too")
	flags.BoolVar(&f.follow, "follow", false, "follow the source after the copy: its binary log is checked, too")
	flags.StringVar(&f.size, "size", "", "size of the new cluster's volumes, as 100Gi. Default: it is not checked")
	flags.StringVar(&f.version, "server-version", "",
		"series of the new cluster's MariaDB, as 11.8. Default: it is not compared with the source's")
}

// refused is what is wrong with the flags.
func (f importFlags) refused() error {
	switch {
	case f.host == "":
		return errors.New("--host is missing: the name or the address of the source")
	case f.credentials == "":
		return errors.New("--credentials is missing: a Secret of this namespace with the keys username and password")
	case (f.ca == "") != f.insecure:
		return errors.New("name the Secret with the CA of the source's certificate with --ca, or use --insecure for a " +
			"connection in clear text")
	case f.follow && len(f.databases) > 0:
		return errors.New("--follow takes over all databases of the source: remove --databases")
	case f.verify != v1alpha1.VerifyIdentity && f.verify != v1alpha1.VerifyCA:
		return fmt.Errorf("--verify %s is not known: %s or %s", f.verify, v1alpha1.VerifyIdentity, v1alpha1.VerifyCA)
	}
	return nil
}

// wanted is what the source is checked for.
func (f importFlags) wanted() (w external.Wanted, err error) {
	w.Version = f.version
	if f.size == "" {
		return w, nil
	}
	size, err := resource.ParseQuantity(f.size)
	if err != nil {
		return w, fmt.Errorf("--size %s: %w", f.size, err)
	}
	w.VolumeBytes = size.Value()
	return w, nil
}

// server is the source, with what its Secrets hold. It is pure.
func (f importFlags) server(credentials, ca map[string][]byte) (external.Server, error) {
	s := external.Server{Host: f.host, Port: f.port, Plain: f.insecure, Identity: f.verify == v1alpha1.VerifyIdentity,
		User:     strings.TrimSpace(string(credentials[jobtask.SourceUser])),
		Password: strings.TrimRight(string(credentials[jobtask.SourcePassword]), "\r\n"), CA: ca[jobtask.CA]}
	switch {
	case s.User == "" || credentials[jobtask.SourcePassword] == nil:
		return s, fmt.Errorf("the Secret %s lacks the keys username and password: add them", f.credentials)
	case !s.Plain && len(s.CA) == 0:
		return s, fmt.Errorf("the Secret %s lacks the key ca.crt: add it, or name another Secret with --ca", f.ca)
	}
	return s, nil
}

// importCommand has the commands for what another server, or a store, holds.
func (e imports) importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Import backups from a store, or check a server before it is copied"}
	var f importFlags
	var format string
	check := &cobra.Command{
		Use: "check", Short: "Name what keeps a server from being copied, before there is a cluster", Args: cobra.NoArgs,
		Long: "Ask a running MariaDB server whether spec.bootstrapFrom.external can copy it, and name everything that " +
			"keeps it from being copied, with what to do. The operator makes the same checks when the cluster is created.\n\n" +
			"The connection is made from this machine, and nothing is changed. That the cluster's pods can connect to the " +
			"server, too, is shown by the first Job of the copy.",
		Example: "  kubectl galera import check --host db.example.com --credentials old-server --ca old-ca --users --size " +
			"100Gi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.refused(); err != nil {
				return err
			}
			if err := e.connect(); err != nil {
				return err
			}
			return e.check(cmd.Context(), f, format)
		},
	}
	f.bind(check.Flags())
	outputFlag(check, &format)
	c.AddCommand(check, backups(e).importBackups())
	return c
}

func (e imports) check(ctx context.Context, f importFlags, format string) error {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	w, err := f.wanted()
	if err != nil {
		return err
	}
	credentials, err := e.secret(ctx, f.credentials)
	if err != nil {
		return err
	}
	ca, err := e.secret(ctx, f.ca)
	if err != nil {
		return err
	}
	server, err := f.server(credentials, ca)
	if err != nil {
		return err
	}
	db, err := server.Open()
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	found, err := external.Inspect(ctx, db, external.Options{Databases: f.databases, Users: f.users,
		Follow: f.follow}, w)
	if err != nil {
		return err
	}
	if format != "" {
		err = e.print(found, format)
	} else {
		_, err = fmt.Fprint(e.out, e.style().Source(net.JoinHostPort(f.host, strconv.Itoa(f.port)), *found))
	}
	return errors.Join(err, unsuitable(*found))
}

// secret is the content of a Secret, nil without a name.
func (e imports) secret(ctx context.Context, name string) (map[string][]byte, error) {
	if name == "" {
		return nil, nil
	}
	s := &corev1.Secret{}
	err := e.kube.Get(ctx, e.key(name), s)
	return s.Data, err
}

// unsuitable is the error that the command ends with, so that scripts see it.
func unsuitable(found jobtask.Source) error {
	switch n := len(found.Findings); n {
	case 0:
		return nil
	case 1:
		return errors.New("the source cannot be copied: one finding")
	default:
		return fmt.Errorf("the source cannot be copied: %d findings", n)
	}
}
