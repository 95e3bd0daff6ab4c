// Package serving lets MariaDB follow an archive of a binary log: a replica takes it for a server. The archive is read
// in a store, and nothing is kept: a replica names its position whenever it connects.
package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// maxReplicas bounds the connections.
const maxReplicas = 16

// server lets replicas in.
type server struct {
	archive *archived
	streams *streams // nil for the archive alone
	trust   *tls.Config
	account func() (account, error)
	poll    time.Duration
}

// run serves until ctx ends.
func (s *server) run(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	slots := make(chan struct{}, maxReplicas)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := s.serve(ctx, conn); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				say("%s: %v", conn.RemoteAddr(), err)
			}
		})
	}
}

// serve is one connection.
func (s *server) serve(ctx context.Context, conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	who, err := s.account()
	if err != nil {
		return err
	}
	p, err := login(ctx, newPackets(conn), s.trust, who)
	if err != nil {
		return err
	}
	last, err := s.last(ctx)
	if err != nil {
		return err // the replica connects again
	}
	in := &session{packets: p, archive: s.archive, streams: s.streams, last: last, poll: s.poll}
	return in.run(ctx)
}

// last is the archive's last transaction.
func (s *server) last(ctx context.Context) (binlog.GTID, error) {
	h, err := s.archive.last(ctx)
	return h.Last, err
}

// out is the pod's log.
var out = logs.FromEnv(os.Stdout)

func say(format string, args ...any) { out.Logger().Info(fmt.Sprintf(format, args...)) }
