package mariadbd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const uuid = "90e0b86f-e577-11f1-b9b1-fa90d5744545"

func TestParseRecovered(t *testing.T) {
	at := func(seqno int64) galera.Position { return galera.Position{UUID: uuid, Seqno: seqno} }
	line := "2026-11-21  7:43:19 0 [Note] WSREP: Recovered position: " + uuid
	for name, c := range map[string]struct {
		lines []string
		want  galera.Position
		ok    bool
	}{
		"with a GTID": {[]string{line + ":17,0-1-2"}, at(17), true},
		"one":         {[]string{"x", line + ":17"}, at(17), true},
		"the last":    {[]string{line + ":17", line + ":18", "y"}, at(18), true},
		"none":        {[]string{"x"}, galera.Position{}, false},
		"garbage":     {[]string{line}, galera.Position{}, false},
		"zero": {[]string{"WSREP: Recovered position: " + galera.ZeroUUID + ":-1"},
			galera.Position{UUID: galera.ZeroUUID, Seqno: -1}, true},
	} {
		got, ok := parseRecovered(c.lines)
		if got.Position != c.want || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", name, got, ok, c.want, c.ok)
		}
		if ok && !strings.HasSuffix(c.lines[len(c.lines)-1], got.Start) && name != "the last" {
			t.Errorf("%s: start %q", name, got.Start)
		}
	}
}

func TestClassify(t *testing.T) {
	for line, want := range map[string]string{
		"[ERROR] /usr/sbin/mariadbd: unknown variable 'nonsense=1'":                                       agentapi.FailureSettings,
		"[ERROR] /usr/sbin/mariadbd: Error while setting value 'x' to 'sql_mode'":                         agentapi.FailureSettings,
		"[ERROR] mariadbd: Disk is full writing './ib' (Errcode: 28 \"No space left on device\")":         agentapi.FailureDiskFull,
		"[ERROR] WSREP: Local state seqno (9) is greater than group seqno (5): states diverged. Aborting": agentapi.FailureDiverged,
		"[ERROR] WSREP: failed to open gcomm backend connection: 110":                                     agentapi.FailureStart,
	} {
		if got := Classify([]string{"[Note] x", line, "[ERROR] Aborting"}); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestWhy(t *testing.T) {
	lines := []string{
		"2026-11-21  7:51:20 0 [Note] nothing", "2026-11-21  7:51:20 0 [ERROR] one", "2026-11-21  7:51:20 0 [ERROR] two",
		"2026-11-21  7:51:20 0 [ERROR] three", "2026-11-21  7:51:20 0 [ERROR] three", "2026-11-21  7:51:21 0 [ERROR] four",
		"[ERROR] Aborting",
	}
	if got := Why(lines); got != "two; three; four" {
		t.Errorf("%q", got)
	}
	if got := Why(
		[]string{"2026 0 [Warning] WSREP: 0.0 (a): State transfer failed"}); got != "WSREP: 0.0 (a): State transfer failed" {
		t.Errorf("%q", got)
	}
	if got := Why([]string{"[Note] fine"}); got != "" {
		t.Errorf("%q", got)
	}
	if got := Why([]string{"[ERROR] " + strings.Repeat("x", 5000)}); len(got) > keptPerLine+10 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestExit: what a server logged explains its end, unless it was killed.
func TestExit(t *testing.T) {
	const line = "2026-11-27 16:43:31 0 [ERROR] InnoDB: Assertion failure"
	for signal, want := range map[syscall.Signal]string{
		0:               "exit code 1: InnoDB: Assertion failure",
		syscall.SIGABRT: "killed by signal SIGABRT: InnoDB: Assertion failure",
		syscall.SIGKILL: "killed by signal SIGKILL (sent by a user, or by the kernel when memory ran out)",
	} {
		if got := (Exit{Code: 1, Signal: signal, Lines: []string{line}}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWhyNamesTheCause uses the last lines of real servers (MariaDB 11.8.6, Galera 26.4.23).
func TestWhyNamesTheCause(t *testing.T) {
	const interrupted = `2026-11-21 12:30:57 2 [ERROR] WSREP: Exception: State wait was interrupted
2026-11-21 12:30:57 2 [ERROR] WSREP: View callback failed. This is unrecoverable, restart required. (FATAL)
2026-11-21 12:30:57 2 [Note] WSREP: ReplicatorSMM::abort()`
	for name, c := range map[string]struct{ lines, want, reason string }{
		"a setting it does not know": {`2026-11-21 12:30:57 0 [ERROR] mariadbd: unknown variable 'no_such_variable=1'
2026-11-21 12:30:57 0 [ERROR] Aborting
` + interrupted, "mariadbd: unknown variable 'no_such_variable=1'", agentapi.FailureSettings},
		"a storage engine it does not have": {`2026-11-21 12:31:46 0 [ERROR] Unknown/unsupported storage engine: nope
2026-11-21 12:31:46 0 [ERROR] Aborting
` + interrupted, "Unknown/unsupported storage engine: nope", agentapi.FailureStart},
		"no space for a file": {`2026-11-21 12:32:43 0 [Warning] WSREP: fflush file(/small/d//gvwstate.dat.tmp) failed(No space left on device)
2026-11-21 12:32:43 0 [ERROR] mariadbd: Error writing file './ddl_recovery.log' (Errcode: 28 "No space left on device")
2026-11-21 12:32:43 0 [ERROR] Aborting
` + interrupted,
			`WSREP: fflush file(/small/d//gvwstate.dat.tmp) failed(No space left on device); mariadbd: Error writing file './ddl_recovery.log' (Errcode: 28 "No space left on device")`,
			agentapi.FailureDiskFull},
		"no space for the write-set cache": {`2026-11-21 12:31:53 0 [Warning] WSREP: Could not open state file for reading: '/small/d//grastate.dat'
2026-11-21 12:31:53 0 [ERROR] WSREP: Requested size 134219032 for '/small/d//galera.cache' exceeds available storage space 0
2026-11-21 12:31:53 0 [ERROR] WSREP: Failed to create a new provider '/usr/lib/galera/libgalera_smm.so' with options '': Failed to initialize wsrep provider
2026-11-21 12:31:53 0 [ERROR] WSREP: Failed to load provider
2026-11-21 12:31:53 0 [ERROR] Aborting`,
			"WSREP: Requested size 134219032 for '/small/d//galera.cache' exceeds available storage space 0",
			agentapi.FailureDiskFull},
		"damaged data": {`2026-11-21 12:31:48 0 [ERROR] InnoDB: The data file './ibdata1' has the wrong space ID. It should be 0, but 0 was found
2026-11-21 12:31:48 0 [ERROR] InnoDB: Plugin initialization aborted with error Data structure corruption
2026-11-21 12:31:48 0 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.
2026-11-21 12:31:48 0 [ERROR] Unknown/unsupported storage engine: InnoDB
2026-11-21 12:31:48 0 [ERROR] Aborting
` + interrupted, "InnoDB: The data file './ibdata1' has the wrong space ID. It should be 0, but 0 was found",
			agentapi.FailureStart},
		"no peer to join": {`2026-11-21 12:31:44 0 [ERROR] WSREP: failed to open gcomm backend connection: 110: failed to reach primary view
2026-11-21 12:31:44 0 [ERROR] WSREP: ./gcs/src/gcs_core.cpp:gcs_core_open():256: Failed to open backend connection: -110 (Connection timed out)
2026-11-21 12:31:45 0 [ERROR] WSREP: ./gcs/src/gcs.cpp:gcs_open():1701: Failed to open channel 'my_wsrep_cluster' at 'gcomm://127.0.0.1:5555': -110 (Connection timed out)
2026-11-21 12:31:45 0 [ERROR] WSREP: gcs connect failed: Operation timed out
2026-11-21 12:31:45 0 [ERROR] WSREP: wsrep::connect(gcomm://127.0.0.1:5555) failed: 7
2026-11-21 12:31:45 0 [ERROR] Aborting`,
			"WSREP: failed to open gcomm backend connection: 110: failed to reach primary view", agentapi.FailureStart},
		"a late peer that still has it in its list": {`2026-11-25 22:29:14 0 [Warning] WSREP: last inactive check more than PT0.75S ago (PT1.3344S), skipping check
2026-11-25 22:29:14 0 [ERROR] WSREP: failed to open gcomm backend connection: 131: A node with the same UUID already exists in the cluster. Removing gvwstate.dat file, this node will generate a new UUID when restarted. (FATAL)
	 at ./gcomm/src/gmcast_proto.cpp:handle_failed():315
2026-11-25 22:29:14 0 [ERROR] WSREP: ./gcs/src/gcs_core.cpp:gcs_core_open():256: Failed to open backend connection: -131 (State not recoverable)
2026-11-25 22:29:15 0 [ERROR] Aborting`,
			"WSREP: failed to open gcomm backend connection: 131: A node with the same UUID already exists in the cluster. " +
				"Removing gvwstate.dat file, this node will generate a new UUID when restarted. (FATAL)",
			agentapi.FailureStart},
		"a statement that an applier refused": {`2026-11-27 16:43:31 2 [ERROR] Slave SQL: Error 'Your password does not satisfy the current policy requirements (simple_password_check)' on query. Default database: ''. Query: 'CREATE USER person@'%' IDENTIFIED BY 'weak'', Internal MariaDB error code: 1819`,
			"Slave SQL: Error 'Your password does not satisfy the current policy requirements (simple_password_check)' " +
				"on query. Default database: ''.", agentapi.FailureStart},
		"a statement that the group refused": {`2026-11-27 16:43:31 9 [Warning] WSREP: TO isolation failed for: 1, schema: app, sql: ALTER USER person IDENTIFIED BY 'weak'. Check wsrep connection state and retry the query.`,
			"WSREP: TO isolation failed for: 1, schema: app", agentapi.FailureStart},
		"a killed server on a busy host": {`2026-11-25 22:29:14 0 [Warning] WSREP: last inactive check more than PT0.75S ago (PT1.3344S), skipping check
2026-11-25 22:29:15 0 [Note] WSREP: Synchronized with group, ready for connections`, "", agentapi.FailureStart},
	} {
		lines := strings.Split(c.lines, "\n")
		if got := Why(lines); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if got := Classify(lines); got != c.reason {
			t.Errorf("%s: %s, want %s", name, got, c.reason)
		}
	}
}

func TestRingKeepsTheLast(t *testing.T) {
	var r Ring
	for i := range ringSize + 50 {
		r.Add(fmt.Sprint(i))
	}
	lines := r.Lines()
	if len(lines) != ringSize || lines[0] != "50" || lines[len(lines)-1] != fmt.Sprint(ringSize+49) {
		t.Errorf("%d lines, %s … %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

func shell(script string) Command {
	return Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ()}
}

func TestRunReturnsHowItEnded(t *testing.T) {
	var table platform.ProcessTable
	exit, err := Run(context.Background(), &table, shell("echo out; echo err >&2; exit 7"))
	if err != nil || exit.Code != 7 || exit.Signal != 0 {
		t.Errorf("%+v %v", exit, err)
	}
	if got := strings.Join(exit.Lines, " "); got != "out err" {
		t.Errorf("lines %q", got)
	}
	exit, err = Run(context.Background(), &table, shell("kill -9 $$"))
	if err != nil || exit.Signal != syscall.SIGKILL || exit.Code != -1 {
		t.Errorf("%+v %v", exit, err)
	}
	if _, err := Run(context.Background(), &table, Command{Path: "/none"}); err == nil {
		t.Error("no error for a program that is not there")
	}
}

func TestRunIsBoundedByItsContext(t *testing.T) {
	var table platform.ProcessTable
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := Run(ctx, &table, shell("sleep 60 & sleep 60"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestOrphanHoldingTheLogDoesNotHoldUsUp: a transfer script that outlives mariadbd keeps its standard error.
func TestOrphanHoldingTheLogDoesNotHoldUsUp(t *testing.T) {
	var table platform.ProcessTable
	p, err := Start(&table, shell("sleep 60 & echo gone; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-p.PID, syscall.SIGKILL) }()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the end was not noticed")
	}
	if exit := p.Exit(); exit.Code != 3 || len(exit.Lines) != 1 {
		t.Errorf("%+v", exit)
	}
	p.Terminate() // must not reach another process
	p.Kill()
	if err := syscall.Kill(-p.PID, 0); err != nil {
		t.Errorf("the group of an ended process was killed: %v", err)
	}
}

func TestTerminate(t *testing.T) {
	var table platform.ProcessTable
	lines := make(chan string, 10)
	c := shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done")
	c.Log = func(line string) { lines <- line }
	p, err := Start(&table, c)
	if err != nil {
		t.Fatal(err)
	}
	<-lines
	p.Terminate()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		p.Kill()
		t.Fatal("did not stop")
	}
	if exit := p.Exit(); exit.Code != 0 || exit.Lines[len(exit.Lines)-1] != "bye" {
		t.Errorf("%+v", exit)
	}
}

func TestRecover(t *testing.T) {
	var table platform.ProcessTable
	fake := shell(`echo "[Note] WSREP: Recovered position: ` + uuid + `:5" >&2; for a; do echo "$a"; done >&2`)
	fake.Args = append(fake.Args, "mariadbd", "--defaults-file=/x")
	found, err := Recover(context.Background(), &table, fake)
	if pos := found.Position; err != nil || pos != (galera.Position{UUID: uuid, Seqno: 5}) {
		t.Errorf("%v %v", found, err)
	}
	fails := shell(`echo "[ERROR] InnoDB: broken" >&2; echo "WSREP: Recovered position: ` + uuid + `:5" >&2; exit 1`)
	_, err = Recover(context.Background(), &table, fails)
	if !errors.Is(err, ErrNoPosition) || !strings.Contains(err.Error(), "InnoDB: broken") {
		t.Errorf("a position from a recovery that failed must not count: %v", err)
	}
}

func TestLongLines(t *testing.T) {
	var got []string
	forward(strings.NewReader(strings.Repeat("x", 100<<10)+"\r\nlast"), func(s string) { got = append(got, s) })
	if len(got) != 3 || got[2] != "last" || len(got[0])+len(got[1]) != 100<<10 {
		t.Errorf("%d pieces", len(got))
	}
}

// TestSettingsToBlame: a member goes back to its earlier settings for what they may have caused, and nothing else.
func TestSettingsToBlame(t *testing.T) {
	for line, want := range map[string]struct {
		signal            syscall.Signal
		certain, possible bool
	}{
		"[ERROR] Fatal error: Illegal or unknown default time zone 'Europe/Vienn'": {
			0, true, true},
		"[ERROR] InnoDB: Data file './ibdata1' uses page size 16384, but the innodb_page_size start-up parameter is 32768": {
			0, true, true},
		"[ERROR] InnoDB: The data file './ibdata1' is of a different size 768 pages than the 640 pages specified": {0, true,
			true},
		"[Warning] Failed to normalize the argument for --secure-file-priv.":                      {0, true, true},
		"[ERROR] InnoDB: Cannot allocate memory for the buffer pool":                              {0, false, true},
		"[ERROR] WSREP: failed to open gcomm backend connection: 110":                             {0, false, false},
		"[ERROR] mariadbd: Disk is full writing './ib' (Errcode: 28 \"No space left on device\")": {0, false, false},
		"[Note] nothing": {syscall.SIGKILL, false, false},
	} {
		if certain, possible := SettingsToBlame(Exit{Code: 1, Signal: want.signal,
			Lines: []string{line, "[ERROR] Aborting"}}); certain != want.certain || possible != want.possible {
			t.Errorf("%q: %v, %v", line, certain, possible)
		}
	}
}
