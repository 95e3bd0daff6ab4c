package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// pollTime is how often the next segment is looked for: it is part of how far a follower is behind.
const pollTime = 3 * time.Second

// Main serves the archive that a task names until ctx ends.
func Main(ctx context.Context) error {
	var t task.Task
	if err := json.Unmarshal([]byte(os.Getenv(task.EnvTask)), &t); err != nil || t.Serve == nil {
		return fmt.Errorf("%s names no archive: %w", task.EnvTask, err)
	}
	bucket, err := store.Open(ctx, t.Store)
	if err != nil {
		return err
	}
	defer func() { _ = bucket.Close() }()
	keys := func() ([]age.Identity, error) { return archive.Identities(task.KeysDir) }
	if _, err := keys(); err != nil {
		return err
	}
	a := &archived{bucket: bucket, dir: binlog.Dir(t.Serve.Dir), keys: keys, chain: t.Serve.Chain,
		to: t.Serve.To, sum: t.Serve.Sum}
	of := newStreams(*t.Serve)
	s := &server{archive: a, streams: of, poll: pollTime, account: mounted,
		trust: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate}}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(task.ServePort))
	if err != nil {
		return err
	}
	b := &board{streams: of, woken: make(chan struct{}, 1), pair: certificate}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.run(ctx, l) })
	g.Go(func() error { return b.serve(ctx, s.trust) })
	g.Go(func() error {
		b.watch(ctx, a)
		return nil
	})
	g.Go(func() error {
		recorder{board: b, bucket: bucket, dir: t.Serve.Dir, line: t.Serve.Line, end: a.end,
			unlike: func(ctx context.Context, last binlog.Head) (string, error) { return of.unlike(ctx, a, last) },
		}.run(ctx, *t.Serve)
		return nil
	})
	if err := g.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// certificate reads it anew for each login: kubelet renews the files.
func certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(task.SourceDir, "tls.crt"), filepath.Join(task.SourceDir, "tls.key"))
	return &pair, err
}

// mounted reads the account, too.
func mounted() (account, error) { return accountIn(task.SourceDir) }

func accountIn(dir string) (who account, err error) {
	user, err := os.ReadFile(filepath.Join(dir, task.SourceUser))
	password, passwordErr := os.ReadFile(filepath.Join(dir, task.SourcePassword))
	who = account{strings.TrimSpace(string(user)), strings.TrimRight(string(password), "\r\n")}
	return who, errors.Join(err, passwordErr)
}

// newStreams returns those of a task. It is nil where nothing was streamed, nor is.
func newStreams(of task.Serve) *streams {
	if of.Stream == nil && of.Line == "" {
		return nil
	}
	s := &streams{line: of.Line, pinned: of.Line}
	if of.Stream != nil {
		s.servers = of.Stream.Endpoints
		s.dialled = dialled{who: func() (account, error) { return accountIn(task.UpstreamDir) },
			trust: func(host string) (*tls.Config, error) {
				return trusted(*of.Stream, host, task.UpstreamCADir, task.UpstreamClientDir)
			}}
	}
	return s
}

// trusted is how the certificate of a server is verified, which is read anew each time, as all of it.
func trusted(of task.Stream, host, caDir, clientDir string) (*tls.Config, error) {
	ca, err := os.ReadFile(filepath.Join(caDir, task.CA))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the Secret of spec.replicaOf.tls.caSecretRef has no certificate in ca.crt")
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host}
	if of.Client {
		pair, err := tls.LoadX509KeyPair(filepath.Join(clientDir, "tls.crt"), filepath.Join(clientDir, "tls.key"))
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if of.AnyName {
		out.InsecureSkipVerify = true //nolint:gosec // the certificate is verified, and not its name
		out.VerifyConnection = func(s tls.ConnectionState) error { return ofCA(s.PeerCertificates, roots) }
	}
	return out, nil
}

// ofCA verifies a certificate without its name.
func ofCA(chain []*x509.Certificate, roots *x509.CertPool) error {
	if len(chain) == 0 {
		return errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}
