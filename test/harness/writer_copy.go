package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Snapshot returns the rows that were acknowledged until now.
func (w *Writer) Snapshot() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]int64, 0, len(w.acknowledged))
	for id := range w.acknowledged {
		out = append(out, id)
	}
	return out
}

// CheckCopy reports whether every node of another cluster holds what the writer's had at one moment: the rows that were
// acknowledged before, nothing that the writer's cluster has not, and of each connection's rows all up to the last that
// is there. It returns how many there are. The writer must be stopped.
func (w *Writer) CheckCopy(ctx context.Context, of *Cluster, before []int64) (int, error) {
	cl, err := w.cluster.Client(ctx)
	if err != nil {
		return 0, err
	}
	source, err := w.contents(ctx, cl, w.cluster.Name+"-0")
	if err != nil {
		return 0, err
	}
	if cl, err = of.Client(ctx); err != nil {
		return 0, err
	}
	pods, err := of.PodNames(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	first := 0
	for i, pod := range pods {
		have, err := w.contents(ctx, cl, pod)
		if err == nil {
			err = partOf(source, have, before)
		}
		if i == 0 {
			first = len(have)
		}
		if len(have) != first {
			err = errors.Join(err, fmt.Errorf("%d rows, and %s has %d", len(have), pods[0], first))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", pod, err))
		}
	}
	return first, errors.Join(errs...)
}

// contents are the writer's rows on a node, by number.
func (w *Writer) contents(ctx context.Context, cl *Client, pod string) (out map[int64]string, err error) {
	db, err := cl.OpenPod(ctx, pod)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx,
		"SET STATEMENT wsrep_sync_wait = 15 FOR SELECT id, CONCAT_WS(',', seq, SHA1(payload)) FROM "+w.table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[int64]string{}
	for rows.Next() {
		var id int64
		var rest string
		if err := rows.Scan(&id, &rest); err != nil {
			return nil, err
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("the row %d is there twice", id)
		}
		out[id] = rest
	}
	return out, rows.Err()
}

// partOf reports whether have is what source had at one moment after the rows before were there.
func partOf(source, have map[int64]string, before []int64) error {
	var strange, differ, lost, holes []int64
	last := map[int64]int64{} // by connection
	for id, rest := range have {
		switch want, is := source[id]; {
		case !is:
			strange = append(strange, id)
		case rest != want:
			differ = append(differ, id)
		}
		last[id>>perWorker] = max(last[id>>perWorker], id)
	}
	for _, id := range before {
		if _, is := have[id]; !is {
			lost = append(lost, id)
		}
	}
	for id := range source {
		if _, is := have[id]; !is && id < last[id>>perWorker] {
			holes = append(holes, id)
		}
	}
	for _, ids := range [][]int64{strange, differ, lost, holes} {
		slices.Sort(ids)
	}
	return errors.Join(complain("rows are there that the source does not have", strange),
		complain("rows are other ones than the source's", differ),
		complain("rows are missing that were acknowledged before", lost),
		complain("rows are missing, and later ones of their connection are there", holes))
}
