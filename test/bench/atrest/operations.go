package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// timed returns how long something takes.
func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}

// backup makes a stream of all data, and keeps it for restore.
func (s *server) backup(ctx context.Context) (time.Duration, error) {
	return timed(func() error {
		_, err := s.sh(ctx, 0, "mariadb-backup --defaults-file=/etc/bench.cnf --backup --galera-info --stream=xbstream "+
			"--user=root --socket=/run/mysqld/mysqld.sock --target-dir=/tmp/backup >/var/lib/mysql/stream 2>/tmp/backup.log || "+
			"{ tail /tmp/backup.log >&2; exit 1; }")
		return err
	})
}

// restore extracts and prepares the stream of the last backup on the second node, and starts a server on it.
func (s *server) restore(ctx context.Context) (time.Duration, error) {
	if err := s.give(ctx); err != nil {
		return 0, err
	}
	took, err := timed(func() error {
		if _, err := s.sh(ctx, 1, "mkdir /var/lib/mysql/data; cd /var/lib/mysql/data; mbstream -x <../stream; "+
			"mariadb-backup --prepare --target-dir=/var/lib/mysql/data 2>/tmp/backup.log || "+
			"{ tail /tmp/backup.log >&2; exit 1; }; chown -R mysql:mysql ."); err != nil {
			return err
		}
		return s.start(ctx, 1, "/var/lib/mysql/data", "--wsrep-on=OFF")
	})
	if err != nil {
		return took, err
	}
	return took, s.stop(ctx, 1, "TERM")
}

// give copies the stream to the second node, whose data it removes.
func (s *server) give(ctx context.Context) error {
	if _, err := s.sh(ctx, 1, "rm -rf /var/lib/mysql/data"); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", fmt.Sprintf(
		"docker exec %s cat /var/lib/mysql/stream | docker exec -i %s sh -c 'cat >/var/lib/mysql/stream'", s.names[0],
		s.names[1])).CombinedOutput() //nolint:gosec // the names are this program's own
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// copyTo has the second node join without data.
func (s *server) copyTo(ctx context.Context) (time.Duration, error) {
	if _, err := s.sh(ctx, 1, "rm -rf /var/lib/mysql/data /var/lib/mysql/stream; mkdir /var/lib/mysql/data; "+
		"chown mysql:mysql /var/lib/mysql/data"); err != nil {
		return 0, err
	}
	took, err := timed(func() error {
		return s.start(ctx, 1, "/var/lib/mysql/data", "--wsrep-cluster-address=gcomm://"+s.addresses[0])
	})
	if err != nil {
		return took, err
	}
	return took, s.stop(ctx, 1, "TERM")
}

// crash kills the server at the end of a turn of writes, and starts it again.
func (s *server) crash(ctx context.Context) (time.Duration, error) {
	if _, _, err := s.run(ctx, "write_only", s.rows); err != nil {
		return 0, err
	}
	if err := s.stop(ctx, 0, "KILL"); err != nil {
		return 0, err
	}
	if _, err := s.sh(ctx, 0, "sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "+
		"/var/lib/mysql/data/grastate.dat"); err != nil {
		return 0, err
	}
	return timed(func() error { return s.start(ctx, 0, "/var/lib/mysql/data", "--wsrep-new-cluster") })
}
