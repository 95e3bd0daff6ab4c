// Package runner is the program of a backup's Jobs: it checks a store, takes a backup from a node, fills a volume from
// one, or removes one. It reports its Result in the pod's termination message, and needs no token of Kubernetes.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
)

// failure is an error with a reason of package task.
type failure struct {
	reason string
	fatal  bool
	err    error
	// damaged is the ID of the backup that was found damaged, "" if it is not known which of a chain is.
	damaged string
}

// Error implements error.
func (f failure) Error() string { return f.err.Error() }

// Unwrap implements errors.Unwrap.
func (f failure) Unwrap() error { return f.err }

func because(reason string, err error) error { return failure{reason: reason, err: err} }

func fatal(reason string, err error) error { return failure{reason: reason, fatal: true, err: err} }

// damaged is what has been found in a backup of a chain.
func damaged(id string, err error) error {
	return failure{reason: task.ReasonBackupDamaged, fatal: true, err: err, damaged: id}
}

// stored wraps an error of the store.
func stored(doing string, err error) error {
	reason, final := store.Reason(err)
	return failure{reason: reason, fatal: final, err: fmt.Errorf("%s: %s", doing, store.Explain(err))}
}

// explain is the reason of an error, and whether another attempt would fail as well.
func explain(err error) (reason string, final bool) {
	var f failure
	if errors.As(err, &f) {
		return f.reason, f.fatal
	}
	return "", false
}

// damagedBackup is the ID of the backup that an error is about, "" if that is not known.
func damagedBackup(err error) string {
	var f failure
	if !errors.As(err, &f) {
		return ""
	}
	return f.damaged
}

// Main does what the environment asks for, and writes the result.
func Main(ctx context.Context) error { return report(ctx, run) }

func report(ctx context.Context, do func(context.Context, task.Task) (task.Result, error)) error {
	var t task.Task
	if err := json.Unmarshal([]byte(os.Getenv(task.EnvTask)), &t); err != nil {
		return fmt.Errorf("%s: %w", task.EnvTask, err)
	}
	start := time.Now()
	result, err := do(ctx, t)
	if err != nil {
		result = failed(err)
		if ctx.Err() != nil {
			result.Error, result.Fatal = "the Job was asked to stop: "+result.Error, false
		}
	}
	result.TookSeconds = time.Since(start).Seconds()
	return errors.Join(err, writeResult(result))
}

// failed is the result of an error.
func failed(err error) (r task.Result) {
	r.Error, r.Damaged = err.Error(), damagedBackup(err)
	r.Reason, r.Fatal = explain(err)
	return r
}

func run(ctx context.Context, t task.Task) (task.Result, error) {
	switch { // the cluster's image has no store
	case t.Restore != nil:
		return restore(ctx, *t.Restore, defaultPlaces())
	case t.Verify != nil:
		return verify(ctx, t)
	case t.Load != nil && t.Load.From != nil:
		return loadFrom(ctx, *t.Load)
	case t.Load != nil:
		return load(ctx, *t.Load, defaultPlaces())
	case t.Inspect != nil && t.Inspect.Backup != "":
		return inspectBackup(ctx, *t.Inspect, defaultPlaces())
	case t.Import != nil && t.Import.Backup != "":
		return adoptBackup(ctx, *t.Import, defaultPlaces())
	case t.Inspect != nil:
		return inspectSource(ctx, *t.Inspect, defaultPlaces())
	case t.Import != nil:
		return importSource(ctx, *t.Import, defaultPlaces())
	}
	bucket, err := store.Open(ctx, t.Store)
	if err != nil {
		return task.Result{}, fatal(task.ReasonStoreRefused, err)
	}
	defer func() { _ = bucket.Close() }()
	switch {
	case t.Check != nil:
		checked, err := check(ctx, bucket, *t.Check)
		if err == nil {
			removeUnfinished(ctx, bucket, t.Store, "", time.Now().Add(-unfinishedAfter))
		}
		return checked, err
	case t.Backup != nil:
		return backup(ctx, bucket, *t.Backup)
	case t.Describe != nil:
		return describeStored(ctx, bucket, *t.Describe)
	case t.Find != nil:
		return find(ctx, bucket, *t.Find)
	case t.Remove != nil:
		if err := removeRecorded(ctx, bucket, *t.Remove); err != nil {
			return task.Result{}, err
		}
		removeUnfinished(ctx, bucket, t.Store, path.Join(t.Remove.Dir, t.Remove.ID), time.Now().Add(time.Hour))
		return task.Result{}, nil
	}
	return task.Result{}, errors.New("the task names nothing to do")
}

// maxFailure is what kubelet keeps of a failure, in bytes: 12 KiB of a pod, divided among at most four containers of a
// restore. Half a failure would be one that is tried again, whatever it is.
const maxFailure = 12 << 10 / 4

// writeResult writes the result where kubelet reads it.
func writeResult(r task.Result) error {
	text, err := encode(r)
	if err != nil {
		return err
	}
	return os.WriteFile(task.ResultFile, text, 0o600)
}

// encode shortens a result to what Kubernetes keeps.
func encode(r task.Result) ([]byte, error) {
	r.Error = strings.ToValidUTF8(r.Error[:min(len(r.Error), task.MaxResult/2)], "")
	text, err := json.Marshal(r)
	for err == nil && len(text) > task.MaxResult && r.Checked != nil && len(r.Checked.Latest) > 0 {
		r.Checked.Latest = r.Checked.Latest[:len(r.Checked.Latest)-1]
		text, err = json.Marshal(r)
	}
	for err == nil && len(text) > task.MaxResult && r.Source.Shorten() {
		text, err = json.Marshal(r)
	}
	for err == nil && len(text) > maxFailure && r.Error != "" { // what is quoted is longer in JSON
		r.Error = strings.ToValidUTF8(r.Error[:len(r.Error)*3/4], "")
		text, err = json.Marshal(r)
	}
	return text, err
}

// out is the pod's log.
var out = logs.FromEnv(os.Stdout)

func say(format string, args ...any) { out.Logger().Info(fmt.Sprintf(format, args...)) }
