package main

import (
	"context"
	"strings"
	"time"
)

// measureFullCrash kills every mariadbd at once, and does the same by hand alongside it.
func measureFullCrash(ctx context.Context, b *bench) ([]Figure, error) {
	pods, err := b.cluster.PodNames(ctx)
	if err != nil {
		return nil, err
	}
	here, err := b.afterCrash(ctx, func() error { return b.cluster.Servers().Kill(ctx, pods...) })
	if err != nil {
		return nil, err
	}
	b.kube.Log("the same by hand")
	hand, err := recoverByHand(ctx, b)
	if err != nil {
		return nil, err
	}
	write, all := median(hand.firstWrite), median(hand.synced)
	return []Figure{
		figure("SIGKILL of all mariadbd: first write", "s", 25, 1.5*write,
			"the best known ends in the zero UUID; goal: 1.5 × by hand", here.firstWrite...),
		figure("  the same by hand", "s", 0, 0, "recover positions, start one as a new component", hand.firstWrite...),
		figure("SIGKILL of all mariadbd: longest gap after the first write", "s", 0, 0, "while the others rejoin",
			here.gap...),
		figure("SIGKILL of all mariadbd: all Synced", "s", 0, 2*all, "goal: 2 × by hand", here.synced...),
		figure("  the same by hand", "s", 0, 0, "", hand.synced...),
		figure("SIGKILL of all mariadbd: Ready and proved encrypted", "s", 0, 0, "", here.ready...),
	}, nil
}

// measureForceDeletion takes all pods away at once, as kubectl delete --force does.
func measureForceDeletion(ctx context.Context, b *bench) ([]Figure, error) {
	begin := time.Now()
	here, err := b.afterCrash(ctx, func() error { return b.cluster.Pods().ForceDeleteAll(ctx) })
	if err != nil {
		return nil, err
	}
	full, err := b.cluster.Transfers().Full(ctx, begin)
	if err != nil {
		return nil, err
	}
	note := "no full transfer"
	if len(full) > 0 {
		note = "full transfers to " + strings.Join(full, ", ")
	}
	return []Figure{
		figure("forced deletion of all pods: first write", "s", 111, 0, "through the primary's Service", here.firstWrite...),
		figure("forced deletion of all pods: longest gap after the first write", "s", 0, 0, "while the others rejoin",
			here.gap...),
		figure("forced deletion of all pods: all Synced", "s", 0, 0, note, here.synced...),
		figure("forced deletion of all pods: Ready and proved encrypted", "s", 185, 0, "", here.ready...),
		figure("forced deletion of all pods: full transfers", "", 1, 0, "in the last round's pods", float64(len(full))),
	}, nil
}
