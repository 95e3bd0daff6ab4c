package main

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// quietLock writes a renewal of the lease only when the last one is some time ago. client-go has one period for the leader's
// renewals and for the looks of those who wait for its end: the former are to be few, and the latter frequent.
type quietLock struct {
	resourcelock.Interface
	now     func() time.Time
	written time.Time // the last record that is known to have arrived
	holder  string    // and whose it was
}

// Update tells of a renewal that was not written as if it had been: renewDeadline is short enough for that.
func (l *quietLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	now := l.now()
	if r.HolderIdentity != "" && r.HolderIdentity == l.holder && now.Sub(l.written) < renewEvery {
		return nil
	}
	l.holder = ""
	if err := l.Interface.Update(ctx, r); err != nil {
		return err
	}
	l.written, l.holder = now, r.HolderIdentity
	return nil
}

// Get is called by whoever does not know whether the lease is its own: what it writes then has to arrive.
func (l *quietLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.holder = ""
	return l.Interface.Get(ctx)
}
