package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/test/harness"
)

// measureDeletedPrimary deletes the pod that takes the writes.
func measureDeletedPrimary(ctx context.Context, b *bench) ([]Figure, error) {
	var synced, ready, gaps []float64
	for range b.options.rounds {
		if err := b.prepare(ctx); err != nil {
			return nil, err
		}
		w, err := b.writer(ctx)
		if err != nil {
			return nil, err
		}
		defer w.Stop()
		primary, err := b.cluster.Primary(ctx)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		old, err := b.cluster.Pods().Delete(ctx, primary)
		if err != nil {
			return nil, err
		}
		s, r, err := b.comeBack(ctx, primary, old, start)
		if err != nil {
			return nil, err
		}
		if err := check(ctx, w); err != nil {
			return nil, err
		}
		synced, ready, gaps = append(synced, s), append(ready, r), append(gaps, seconds(w.LongestGap(start).Length))
	}
	return []Figure{
		figure("deleted primary pod: Synced again", "s", 0, 10, "from kubectl delete", synced...),
		figure("deleted primary pod: cluster Ready again", "s", 34, 15, "from kubectl delete", ready...),
		figure("deleted primary pod: longest write gap", "s", 3.5, 1.5, "", gaps...),
	}, nil
}

// comeBack times a pod's way back: its successor Synced, by its own word, and the cluster Ready.
func (b *bench) comeBack(ctx context.Context, pod string, old types.UID, start time.Time) (synced, ready float64,
	err error) {
	if err := b.cluster.Pods().WaitReplaced(ctx, pod, old, recoverTime); err != nil {
		return 0, 0, err
	}
	cl, err := b.cluster.Client(ctx)
	if err != nil {
		return 0, 0, err
	}
	err = b.kube.Until(ctx, pod+" Synced", recoverTime, func(ctx context.Context) (bool, string, error) {
		s := cl.NodeState(ctx, pod)
		return s.Synced(3), s.String(), s.Err
	})
	if err != nil {
		return 0, 0, err
	}
	synced = seconds(time.Since(start))
	err = b.kube.Until(ctx, "cluster Ready", recoverTime, func(ctx context.Context) (bool, string, error) {
		p, err := b.cluster.Pod(ctx, pod)
		if err != nil || !harness.PodReady(p) {
			return false, pod + " is not ready", err
		}
		c, err := b.cluster.Get(ctx)
		if err != nil {
			return false, "", err
		}
		return harness.Ready(c), harness.Summary(c), nil
	})
	return synced, seconds(time.Since(start)), err
}

// measureKilledPrimary kills mariadbd, and nothing else, in the pod that takes the writes.
func measureKilledPrimary(ctx context.Context, b *bench) ([]Figure, error) {
	var gaps, synced []float64
	for range b.options.rounds {
		if err := b.prepare(ctx); err != nil {
			return nil, err
		}
		w, err := b.writer(ctx)
		if err != nil {
			return nil, err
		}
		defer w.Stop()
		primary, err := b.cluster.Primary(ctx)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err := b.cluster.Servers().Kill(ctx, primary); err != nil {
			return nil, err
		}
		if _, err := b.cluster.Joins().Wait(ctx, primary, start, recoverTime); err != nil {
			return nil, err
		}
		synced = append(synced, seconds(time.Since(start)))
		if err := check(ctx, w); err != nil {
			return nil, err
		}
		gaps = append(gaps, seconds(w.LongestGap(start).Length))
	}
	return []Figure{
		figure("SIGKILL of the primary's mariadbd: longest write gap", "s", 0, 3, "", gaps...),
		figure("SIGKILL of the primary's mariadbd: Synced again", "s", 0, 0, "", synced...),
	}, nil
}

// crash is what is measured after everything went down.
type crash struct {
	firstWrite, synced, ready []float64
	// gap is the longest without a write after the first one, while the other nodes rejoin.
	gap []float64
}

// afterCrash makes a fault, several times, and times the way back.
func (b *bench) afterCrash(ctx context.Context, fault func() error) (crash, error) {
	var out crash
	for range b.options.rounds {
		if err := b.prepare(ctx); err != nil {
			return out, err
		}
		w, err := b.writer(ctx)
		if err != nil {
			return out, err
		}
		defer w.Stop()
		start := time.Now()
		if err := fault(); err != nil {
			return out, err
		}
		if err := b.cluster.WaitSynced(ctx, recoverTime); err != nil {
			return out, err
		}
		out.synced = append(out.synced, seconds(time.Since(start)))
		// Pods that are deleted by force serve on for a moment: the interruption may not have begun before all of it is over.
		if err := w.WaitForMore(ctx, 20, recoverTime); err != nil {
			return out, err
		}
		first, ok := w.FirstWriteAfter(start)
		if !ok {
			return out, fmt.Errorf("no write after the fault")
		}
		out.firstWrite = append(out.firstWrite, seconds(first.Sub(start)))
		if err := b.cluster.WaitHealthy(ctx, recoverTime); err != nil {
			return out, err
		}
		out.ready = append(out.ready, seconds(time.Since(start)))
		out.gap = append(out.gap, seconds(w.LongestGap(first).Length))
		if err := check(ctx, w); err != nil {
			return out, err
		}
	}
	return out, nil
}
