package measure

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/measure/sysbench"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// ignored errors are counted and the transaction is tried again: certification failures (1213, 1020), lock
// waits (1205), failed commits (1180).
const ignored = "1213,1020,1205,1180"

// prepareScript makes the tables all of sysbench's own scripts work on.
const prepareScript = "oltp_read_write"

// sysbenchFiles writes what sysbench reads from its directory: the password, which must not be on a
// command line, and the CA and certificate it takes from fixed names.
func (r *target) sysbenchFiles() error {
	files := map[string][]byte{"sysbench.conf": []byte("mysql-password=" + r.password + "\n")}
	if r.plan.TLS {
		for name, from := range map[string]string{
			"cacert.pem":      r.ca,
			"client-cert.pem": filepath.Join(result.ClientCertDir, "tls.crt"),
			"client-key.pem":  filepath.Join(result.ClientCertDir, "tls.key"),
		} {
			text, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			files[name] = text
		}
		if _, err := tls.X509KeyPair(files["client-cert.pem"], files["client-key.pem"]); err != nil {
			return fmt.Errorf("the client's certificate: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(result.WorkDir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// arguments every call has.
func (r *target) arguments(script string, threads int) []string {
	onOff := map[bool]string{true: "on", false: "off"}
	place, tls := "--mysql-host="+strings.Join(r.plan.Hosts, ","), r.plan.TLS
	switch {
	case r.plan.Proxy != "":
		place, tls = "--mysql-socket="+r.plan.Proxy, false
	case r.plan.Service != "":
		place = "--mysql-host=" + r.plan.Service
	}
	return []string{
		"--config-file=" + filepath.Join(result.WorkDir, "sysbench.conf"), script,
		"--db-driver=mysql", "--mysql-user=" + r.plan.User, "--mysql-db=" + r.plan.Data.Database,
		place, "--mysql-ssl=" + onOff[tls],
		"--mysql-ignore-errors=" + ignored,
		"--tables=" + strconv.Itoa(r.plan.Data.Tables), "--table-size=" + strconv.FormatInt(r.plan.Data.Rows, 10),
		"--threads=" + strconv.Itoa(threads), "--rand-seed=" + strconv.FormatInt(r.plan.Seed, 10),
	}
}

// sysbench runs it to its end and returns what it printed.
func (r *runner) sysbench(ctx context.Context, args []string) (string, error) {
	var text strings.Builder
	cmd := exec.CommandContext(ctx, "sysbench", args...)
	cmd.Dir = result.WorkDir
	shown := podLog.Writer("sysbench")
	defer func() { _ = shown.Close() }()
	cmd.Stdout = io.MultiWriter(&text, shown)
	cmd.Stderr = cmd.Stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	r.log.WriteString(text.String())
	if err != nil {
		if words := result.LastWords(text.String(), 3); len(words) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.Join(words, " / "))
		}
	}
	return text.String(), err
}

// prepare makes the data set.
func (r *runner) prepare(ctx context.Context) error {
	if err := r.sysbenchFiles(); err != nil {
		return err
	}
	if err := r.awaitTrust(ctx); err != nil {
		return err
	}
	if err := r.emptyDatabases(ctx); err != nil {
		return err
	}
	r.out.StartedAt = time.Now()
	// One node writes: the same rows come in the same order, and nothing conflicts.
	r.plan.Hosts = r.plan.Hosts[:1]
	for _, name := range r.plan.Data.Names() {
		if _, err := r.sysbench(ctx, r.prepareArguments(name)); err != nil {
			return fmt.Errorf("sysbench prepare: %w", err)
		}
	}
	return r.describeData(ctx)
}

// prepareArguments have rows made with the ids that a run asks for, from one on: the ids that a node of three makes
// itself are every third number. Of two settings the later counts.
func (r *target) prepareArguments(database string) []string {
	return append(r.arguments(prepareScript, min(r.plan.Data.Tables, 4)), "--mysql-db="+database, "--auto_inc=off",
		"prepare")
}

func (r *runner) describeData(ctx context.Context) (err error) {
	data := r.plan.Data
	if err := r.checkRows(ctx); err != nil {
		return err
	}
	if data.Checksum, err = r.checksums(ctx); err != nil {
		return err
	}
	data.Bytes = r.dataBytes(ctx)
	r.out.Data, r.out.EndedAt = &data, time.Now()
	return nil
}

// oltp lets sysbench warm up, and then measures.
func (r *runner) oltp(ctx context.Context) error {
	if err := r.sysbenchFiles(); err != nil {
		return err
	}
	if r.plan.Proxy != "" || r.plan.Service != "" {
		if _, err := (proxied{r}).await(ctx); err != nil {
			return err
		}
	}
	o := r.plan.OLTP
	args := append(r.arguments(o.Script, o.Threads), "--rand-type="+strings.ToLower(o.Distribution))
	if o.WarmupSeconds > 0 {
		text, err := r.sysbench(ctx, warmup(args, o.WarmupSeconds, r.plan.Seed))
		if err != nil {
			return fmt.Errorf("sysbench failed while warming up: %w", firstOf(text, err))
		}
		r.log.Reset()
	}
	args = append(args, "--report-interval=1", "--histogram=on", "--percentile=95")
	if o.Events > 0 {
		args = append(args, "--time=0", "--events="+strconv.FormatInt(o.Events, 10))
	} else {
		args = append(args, "--time="+strconv.Itoa(o.Seconds))
	}
	var text string
	runErr := r.measure(ctx, func(ctx context.Context) (err error) {
		text, err = r.sysbench(ctx, append(args, "run"))
		return err
	})
	result, err := sysbench.Parse(text)
	r.out.OLTP = &result
	r.out.Environment.Sysbench = sysbench.Version(text)
	if err != nil {
		return err // it explains the exit code
	}
	return runErr
}

// warmup runs the same load for some time with random numbers of its own: those of the run would bring just the rows it
// asks for into memory, in the same order. Of two settings the later counts.
func warmup(args []string, seconds int, seed int64) []string {
	return append(slices.Clone(args), "--rand-seed="+strconv.FormatInt(seed+warmupSeeds, 10),
		"--time="+strconv.Itoa(seconds), "run")
}

// warmupSeeds are beyond those of all runs and attempts.
const warmupSeeds = 1000000

// firstOf prefers sysbench's own complaint to its exit code.
func firstOf(text string, err error) error {
	if _, why := sysbench.Parse(text); why != nil && strings.Contains(why.Error(), "gave up") {
		return why
	}
	return err
}
