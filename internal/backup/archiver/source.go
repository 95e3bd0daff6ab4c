package archiver

import (
	"context"
	"errors"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// source is a node that can be followed.
type source interface {
	// name is its host.
	name() string
	// position is where it is now: it has all that was committed anywhere before.
	position(ctx context.Context) (position, error)
	// open asks for what follows a position, one GTID for each domain. A refusal says that the node does not have it.
	open(after []string) (events, error)
	close()
}

// events is a node's binary log as it goes on.
type events interface {
	// event is the next one, nil when none comes for a while.
	event(ctx context.Context, wait time.Duration) (binlog.Event, error)
	Close()
}

// position is where a node is.
type position struct {
	// domain of the cluster's GTIDs, last the last of them, others the last ones of what is the node's own.
	domain uint32
	last   binlog.GTID
	others []string
}

// after is the first transaction that a node has after one, none when it has none.
func after(ctx context.Context, n source, last binlog.GTID) (binlog.GTID, error) {
	at, err := n.position(ctx)
	if err != nil || !at.last.Follows(last) {
		return binlog.GTID{}, err
	}
	s, err := n.open(append(at.others, last.String()))
	if err != nil {
		return binlog.GTID{}, err
	}
	defer s.Close()
	for end := time.Now().Add(askTime); time.Now().Before(end); {
		e, err := s.event(ctx, time.Second)
		if err != nil {
			return binlog.GTID{}, err
		}
		if e == nil || e.Check() != nil {
			continue
		}
		if g, ok := e.GTID(); ok && g.Domain == last.Domain {
			return g, nil
		}
	}
	return binlog.GTID{}, errors.New("it gives nothing")
}

func closeAll(all []source) {
	for _, n := range all {
		n.close()
	}
}
