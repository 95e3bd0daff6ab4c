// Package leasing renews the lease by which the nodes of a cluster accept writes: it gets the agents' questions,
// announces that there is a lease, looks for a promotion in the store, and answers them if there is none. It keeps
// nothing, and looks at no clock. Any number of its programs may run.
package leasing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// renewTime bounds a renewal: one that takes longer leaves agents little.
const renewTime = 2 * lease.Every

// errPromoted is why a lease is not renewed any more.
var errPromoted = errors.New("another cluster has taken over")

// renewer renews one lease.
type renewer struct {
	bucket *store.Bucket
	dir    string
	watch  promotion.Watch
	agents agents
	// began is called after the first renewal that an agent was asked for.
	began func() error
}

// agents are those that ask.
type agents interface {
	// ask returns their questions, as far as they can be had.
	ask(ctx context.Context) []question
	answer(ctx context.Context, to []question)
}

// Main renews the lease of a cluster until ctx ends.
func Main(ctx context.Context) error {
	var t task.Task
	if err := json.Unmarshal([]byte(os.Getenv(task.EnvTask)), &t); err != nil || t.Lease == nil {
		return fmt.Errorf("%s names no lease: %w", task.EnvTask, err)
	}
	bucket, err := store.Open(ctx, t.Store)
	for ; err != nil; bucket, err = store.Open(ctx, t.Store) {
		say("the store cannot be used: %v", err) // a pod that is restarted for it is held back for minutes
		select {
		case <-time.After(lease.Every):
		case <-ctx.Done():
			return nil
		}
	}
	defer func() { _ = bucket.Close() }()
	(&renewer{bucket: bucket, dir: t.Lease.Dir, agents: hosts{names: t.Lease.Nodes, trust: mounted},
		began: func() error { return os.WriteFile(task.RenewedFile, nil, 0o600) }}).run(ctx)
	return nil
}

// Renewed is the question of the pod's startup probe: whether a renewal has succeeded since it was started. One that
// fails later does not count: the other pod would do no better, and none would be left.
func Renewed() error {
	_, err := os.Stat(task.RenewedFile)
	return err
}

// run renews until ctx ends.
func (r *renewer) run(ctx context.Context) {
	tick := time.NewTicker(lease.Every)
	defer tick.Stop()
	last := errors.New("nothing was renewed yet")
	for {
		err := r.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if fmt.Sprint(err) != fmt.Sprint(last) {
			if last = err; err != nil {
				say("the lease is not renewed: %v", err)
			} else {
				say("the lease is renewed")
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// renew carries out the steps of one renewal, and answers what was asked before.
func (r *renewer) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	var asked []question
	for _, step := range lease.Steps {
		var err error
		switch step {
		case lease.Ask:
			asked = r.agents.ask(ctx)
		case lease.Announce:
			err = promotion.Announce(ctx, r.bucket, r.dir, time.Now())
		case lease.Look:
			err = r.check(ctx)
		}
		if err != nil {
			return err
		}
	}
	r.agents.answer(ctx, asked)
	if r.began == nil || len(asked) == 0 {
		return nil
	}
	err := r.began()
	if err == nil {
		r.began = nil
	}
	return err
}

func (r *renewer) check(ctx context.Context) error {
	promoted, err := r.watch.Promoted(ctx, r.bucket, r.dir)
	if err == nil && promoted {
		err = errPromoted
	}
	return err
}

// out is the pod's log.
var out = logs.FromEnv(os.Stdout)

func say(format string, args ...any) { out.Logger().Info(fmt.Sprintf(format, args...)) }
