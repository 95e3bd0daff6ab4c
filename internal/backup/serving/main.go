package serving

import (
	"context"
	"crypto/tls"
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
	s := &server{archive: a, poll: pollTime, account: mounted,
		trust: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate}}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(task.ServePort))
	if err != nil {
		return err
	}
	b := &board{}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.run(ctx, l) })
	g.Go(func() error { return b.serve(ctx, s.trust) })
	g.Go(func() error {
		b.watch(ctx, a)
		return nil
	})
	g.Go(func() error {
		b.promote(ctx, bucket, *t.Serve)
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
func mounted() (who account, err error) {
	user, err := os.ReadFile(filepath.Join(task.SourceDir, task.SourceUser))
	password, passwordErr := os.ReadFile(filepath.Join(task.SourceDir, task.SourcePassword))
	who = account{strings.TrimSpace(string(user)), strings.TrimRight(string(password), "\r\n")}
	return who, errors.Join(err, passwordErr)
}
