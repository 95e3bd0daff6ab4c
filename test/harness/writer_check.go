package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// mostExamples bounds how many wrong rows an error names.
const mostExamples = 5

// Check reports whether every acknowledged row is on every node exactly once, no other row exists
// but those whose answer was lost, and all nodes hold the same. The writer must be stopped.
func (w *Writer) Check(ctx context.Context) error {
	cl, err := w.cluster.Client(ctx)
	if err != nil {
		return err
	}
	pods, err := w.cluster.PodNames(ctx)
	if err != nil {
		return err
	}
	var errs []error
	var first map[int64]int
	for _, pod := range pods {
		rows, err := w.rows(ctx, cl, pod)
		for again := 0; err != nil && again < 2; again++ { // what cannot be read says nothing of what is there
			rows, err = w.rows(ctx, cl, pod)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("reading the rows of %s: %w", pod, err))
			continue
		}
		errs = append(errs, w.compare(pod, rows))
		if first == nil {
			first = rows
		}
		errs = append(errs, sameRows(pods[0], first, pod, rows))
	}
	w.cluster.Kube.Log("checked %d acknowledged rows on %d nodes (%d more without an answer)", len(w.acknowledged),
		len(pods), len(w.uncertain))
	return errors.Join(errs...)
}

// rows reads how often each number is on a node, once the node has applied everything.
func (w *Writer) rows(ctx context.Context, cl *Client, pod string) (out map[int64]int, err error) {
	db, err := cl.OpenPod(ctx, pod)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 15"); err != nil {
		return nil, err
	}
	result, err := conn.QueryContext(ctx, "SELECT id FROM "+w.table)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	return countIDs(result)
}

func countIDs(result *sql.Rows) (map[int64]int, error) {
	out := map[int64]int{}
	for result.Next() {
		var id int64
		if err := result.Scan(&id); err != nil {
			return nil, err
		}
		out[id]++
	}
	return out, result.Err()
}

// compare judges the rows of one node by what its clients were answered.
func (w *Writer) compare(pod string, rows map[int64]int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lost, double, strange []int64
	for id := range w.acknowledged {
		if rows[id] == 0 {
			lost = append(lost, id)
		}
	}
	for id, n := range rows {
		_, acknowledged := w.acknowledged[id]
		_, uncertain := w.uncertain[id]
		if n > 1 {
			double = append(double, id)
		}
		if !acknowledged && !uncertain {
			strange = append(strange, id)
		}
	}
	return errors.Join(
		complain("acknowledged rows are lost on "+pod, lost),
		complain("rows are there more than once on "+pod, double),
		complain("rows that no client wrote are on "+pod, strange))
}

func sameRows(podA string, a map[int64]int, podB string, b map[int64]int) error {
	var differ []int64
	for id := range a {
		if a[id] != b[id] {
			differ = append(differ, id)
		}
	}
	for id := range b {
		if a[id] == 0 {
			differ = append(differ, id)
		}
	}
	return complain(fmt.Sprintf("rows differ between %s and %s", podA, podB), differ)
}

func complain(what string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return fmt.Errorf("%d %s, for instance %v", len(ids), what, ids[:min(len(ids), mostExamples)])
}
