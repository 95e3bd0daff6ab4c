package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	// lockTime bounds how long the source's commits wait for the connections that share a snapshot.
	lockTime = time.Second
	// snapshotTries is how often a snapshot is tried: a statement of the source may be in its way.
	snapshotTries = 10
	snapshotPause = 2 * time.Second
)

// ErrChanged is what the source's own DDL statements during the copy cause: the copy is begun anew.
var ErrChanged = errors.New("the source's tables were altered while they were read")

// SourceError is an error of the source, not of the target.
type SourceError struct{ Err error }

// Error implements error.
func (e SourceError) Error() string { return "the source: " + e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e SourceError) Unwrap() error { return e.Err }

func ofSource(doing string, err error) error {
	switch code(err) {
	case 0:
	case errTableChanged, errNoSuchTable, errUnknownColumn:
		return SourceError{fmt.Errorf("%w: %s: %w", ErrChanged, doing, err)}
	}
	return SourceError{fmt.Errorf("%s: %w", doing, err)}
}

// snapshot is a moment of the source, which several connections read.
type snapshot struct {
	conns []*sql.Conn
	// gtid is the position of its binary log at that moment, "" when it has none.
	gtid string
	// server is the one that it is of.
	server string
	// locked is how long commits were blocked.
	locked time.Duration
}

func (s *snapshot) close() {
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// takeSnapshot opens n connections that see the source as it is at one moment.
func takeSnapshot(ctx context.Context, source *sql.DB, n int) (*snapshot, error) {
	s := &snapshot{}
	for range n + 1 {
		c, err := source.Conn(ctx)
		if err != nil {
			s.close()
			return nil, ofSource("connecting", err)
		}
		s.conns = append(s.conns, c)
	}
	for try := 1; ; try++ {
		err := s.begin(ctx)
		if err == nil {
			_ = s.conns[n].Close()
			s.conns = s.conns[:n]
			return s, nil
		}
		if code(err) != errLockWait && !errors.Is(err, errSlow) || try == snapshotTries {
			s.close()
			return nil, ofSource("taking a snapshot", err)
		}
		select {
		case <-ctx.Done():
			s.close()
			return nil, ctx.Err()
		case <-time.After(snapshotPause):
		}
	}
}

var errSlow = fmt.Errorf("it did not begin all transactions within %s", lockTime)

// begin blocks commits with the last connection for as long as the others take to begin their transactions. Its session
// waits a second for locks at most, so that it holds up nothing that waits behind it for longer either.
func (s *snapshot) begin(ctx context.Context) error {
	lock, rest := s.conns[len(s.conns)-1], s.conns[:len(s.conns)-1]
	for _, c := range rest {
		if _, err := c.ExecContext(ctx, "ROLLBACK"); err != nil {
			return err
		}
	}
	if _, err := lock.ExecContext(ctx, "BACKUP STAGE START"); err != nil {
		return err
	}
	from := time.Now()
	err := s.beginLocked(ctx, lock, rest, from)
	_, end := lock.ExecContext(ctx, "BACKUP STAGE END")
	s.locked = time.Since(from)
	if err = errors.Join(err, end); err != nil {
		return err
	}
	for _, c := range rest {
		if err := s.of(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) beginLocked(ctx context.Context, lock *sql.Conn, rest []*sql.Conn, from time.Time) error {
	if _, err := lock.ExecContext(ctx, "BACKUP STAGE BLOCK_COMMIT"); err != nil {
		return err
	}
	for _, c := range rest {
		if time.Since(from) > lockTime {
			return errSlow
		}
		if _, err := c.ExecContext(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
			return err
		}
	}
	return lock.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos, "+whichServer).Scan(&s.gtid, &s.server)
}

// released has a transaction of the snapshot hold no metadata locks: the source's DDL waits for none of them.
func released(ctx context.Context, c *sql.Conn, use func() error) error {
	if _, err := c.ExecContext(ctx, "SAVEPOINT read_table"); err != nil {
		return ofSource("reading", err)
	}
	err := use()
	_, end := c.ExecContext(ctx, "ROLLBACK TO SAVEPOINT read_table") // also after an error, which may be the target's
	if err == nil && end != nil {
		err = ofSource("reading", end)
	}
	return err
}
