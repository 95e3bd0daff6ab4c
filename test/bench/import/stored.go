package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/test/harness"
)

// stream is the backup of the source in the store, which is a folder here.
const stream = "old/full.xb"

// storeScript backs the source up.
const storeScript = `mariadb-backup --no-defaults --backup --stream=mbstream --parallel=%d --datadir=/var/lib/mysql/d \
  --host=%s --user=mover --password=secret --skip-ssl --target-dir=/tmp 2>/tmp/log >/store/` + stream + ` ||
  { tail -n 20 /tmp/log >&2; exit 1; }`

// restoreScript is what a person does with such a backup, on the same series.
const restoreScript = `mkdir /var/lib/mysql/d
mbstream -x -C /var/lib/mysql/d </store/` + stream + `
mariadb-backup --prepare --use-memory=%dM --target-dir=/var/lib/mysql/d 2>/tmp/log ||
  { tail -n 20 /tmp/log >&2; exit 1; }
` + serverScript + endScript

// store is where the backup is.
func (w *world) store() string { return filepath.Join(w.dir, "store") }

// storeBackup makes the backup that is restored in each round.
func (w *world) storeBackup(ctx context.Context) error {
	if err := errors.Join(folder(w.store()), folder(filepath.Join(w.store(), "old"))); err != nil {
		return err
	}
	_, err := w.runTurn(ctx, "--volumes-from", w.source, "-v", w.store()+":/store", "--user", fmt.Sprint(mysqlID),
		"--entrypoint=bash", w.sourceImage, "-o", "pipefail", "-euc",
		fmt.Sprintf(storeScript, w.connections, w.address))
	return err
}

// limit has both ways have the same memory: the Job applies the log with half of it.
func (w *world) limit() string { return fmt.Sprintf("--memory=%dm", 2*w.pool) }

// storedByHand restores it with mariadb-backup.
func (w *world) storedByHand(ctx context.Context) (took turn, err error) {
	dir := filepath.Join(w.dir, "restored")
	if err := folder(dir); err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from := time.Now()
	_, err = w.runTurn(ctx, w.limit(), "-v", w.store()+":/store:ro", "-v", dir+":/var/lib/mysql", "--user",
		fmt.Sprint(mysqlID), "--entrypoint=bash", w.sourceImage, "-o", "pipefail", "-euc",
		fmt.Sprintf(restoreScript, w.pool, w.pool))
	return turn{all: time.Since(from)}, err
}

// storedByJob restores it with the containers of the Job of method: Backup, in the source's series.
func (w *world) storedByJob(ctx context.Context) (took turn, err error) {
	base := filepath.Join(w.dir, "adopted")
	volume, pipe, none := filepath.Join(base, "volume"), filepath.Join(base, "pipe"), filepath.Join(base, "none")
	result := filepath.Join(base, "result")
	if err := errors.Join(folder(base), folder(volume), folder(pipe), folder(none)); err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := errors.Join(os.WriteFile(result, nil, 0o600), os.Chown(result, mysqlID, mysqlID)); err != nil {
		return turn{}, err
	}
	text, err := json.Marshal(task.Task{Import: &task.External{Backup: stream, ID: "external-1", History: history,
		Settings: map[string]string{"innodb_buffer_pool_size": fmt.Sprint(w.pool, "M")}}})
	if err != nil {
		return turn{}, err
	}
	owner := fmt.Sprintf(":uid=%d,mode=750", mysqlID)
	args := func(command string, more ...string) []string {
		return append(append([]string{"--user", fmt.Sprint(mysqlID, ":", mysqlID), "--tmpfs", agentapi.RunDir + owner,
			"--tmpfs", agentapi.TmpDir + owner, "-v", pipe + ":" + task.PipeDir, "-v", w.program + ":/backup:ro",
			"-e", task.EnvTask + "=" + string(text)}, more...), "--entrypoint", "/backup", w.sourceImage, command)
	}
	from := time.Now()
	if _, err := harness.Docker(ctx, append([]string{"run", "-d", "--name", w.source + fetchSuffix},
		args("fetch", "-v", w.store()+":"+task.VolumeDir+":ro", "-v", none+":"+task.KeysDir)...)...); err != nil {
		return turn{}, err
	}
	defer func() {
		_, failed := harness.Docker(context.WithoutCancel(ctx), "rm", "-f", w.source+fetchSuffix)
		err = errors.Join(err, failed)
	}()
	_, err = w.runTurn(ctx, args("run", w.limit(), "-v", volume+":"+agentapi.VolumeDir,
		"-v", result+":"+task.ResultFile)...)
	took = turn{all: time.Since(from)}
	if err != nil {
		log, _ := harness.Docker(context.WithoutCancel(ctx), "logs", "--tail", "30", w.source+fetchSuffix)
		return took, fmt.Errorf("%w\n%s", err, log)
	}
	var r task.Result
	answer, err := os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(answer, &r)
	}
	if err == nil && r.Restored == nil {
		err = fmt.Errorf("nothing was restored: %s: %s", r.Reason, r.Error)
	}
	return took, err
}

// restoreStored gives both ways a turn, and begins with the other one in each round.
func (w *world) restoreStored(ctx context.Context, round int, f figures) error {
	methods := []struct {
		name    string
		restore func(context.Context) (turn, error)
	}{{"mariadb-backup, of a stored backup", w.storedByHand}, {"the Job, of a stored backup", w.storedByJob}}
	for i := range methods {
		arm := (round + i) % len(methods)
		method := methods[arm]
		took, err := w.measured(ctx, method.restore)
		if err != nil {
			return fmt.Errorf("%s: %w", method.name, err)
		}
		w.loads[method.name] = append(w.loads[method.name], took)
		f.add("restored, from a backup in a store, by mariadb-backup and by the Job: MiB/s", arm,
			float64(w.bytes>>20)/took.all.Seconds())
	}
	return nil
}
