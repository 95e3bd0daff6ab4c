package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// countingLock counts what arrives.
type countingLock struct {
	resourcelock.Interface
	updates int
	err     error
}

func (l *countingLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.updates++
	return l.err
}

func (l *countingLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, nil, nil
}

func TestQuietLock(t *testing.T) {
	me, nobody := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}
	start := time.Unix(0, 0)
	type step struct {
		after time.Duration
		r     resourcelock.LeaderElectionRecord
		get   bool
		err   error
		want  int // updates that have arrived
	}
	gone := errors.New("no answer")
	for name, steps := range map[string][]step{
		"a renewal":                          {{0, me, false, nil, 1}, {renewEvery - 1, me, false, nil, 1}, {renewEvery, me, false, nil, 2}},
		"the release comes at once":          {{0, me, false, nil, 1}, {1, nobody, false, nil, 2}},
		"and is not taken back":              {{0, me, false, nil, 1}, {1, nobody, false, nil, 2}, {2, me, false, nil, 3}},
		"one that failed is tried again":     {{0, me, false, nil, 1}, {renewEvery, me, false, gone, 2}, {renewEvery + 1, me, false, nil, 3}},
		"after a look everything is written": {{0, me, false, nil, 1}, {1, me, true, nil, 2}},
		"and a release as well":              {{0, me, false, nil, 1}, {1, nobody, true, nil, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := &countingLock{}
			now := start
			l := &quietLock{Interface: inner, now: func() time.Time { return now }}
			for i, s := range steps {
				now, inner.err = start.Add(s.after), s.err
				if s.get {
					_, _, _ = l.Get(t.Context())
				}
				if err := l.Update(t.Context(), s.r); !errors.Is(err, s.err) || inner.updates != s.want {
					t.Errorf("step %d: %v, %d updates, want %d", i, err, inner.updates, s.want)
				}
			}
		})
	}
}

// TestLeaseTimes: a leader that cannot renew its lease ends before another one takes it, though its last renewals were not written.
func TestLeaseTimes(t *testing.T) {
	if renewEvery%retryPeriod != 0 || renewEvery+renewDeadline >= leaseDuration {
		t.Errorf("a leader ends %s after its last renewal, and another one begins after %s", renewEvery+renewDeadline, leaseDuration)
	}
	if renewDeadline <= time.Duration(leaderelection.JitterFactor*float64(retryPeriod)) {
		t.Error("client-go refuses these")
	}
}
