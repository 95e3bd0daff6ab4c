package backup

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	complete = "printf data; echo '[00] Writing Galera info succeeded with 11111111-2222-4333-8444-555555555555:42 0' " +
		">&2; " +
		"echo \"[00] MySQL binlog position: filename 'binlog.000003', position '379', GTID of the last change '0-1-7'\" >&2"
	fails   = "printf half; echo 'mariadb-backup: Error: cannot read' >&2; exit 1"
	endless = "while :; do printf data; sleep 0.01; done"
)

// server is an agent's backup port, with a program in the place of mariadb-backup.
type server struct {
	streamer *Streamer
	url      string
	run      *process.Supervisor
	do       func(func()) // on the loop
	line     galera.Line
	keys     Keys
	noKeys   error
	created  map[string]string
	unknown  error
	// onBegin is called after each question for the line.
	onBegin func()
	hash    string
	pair    tls.Certificate
}

func start(t *testing.T, program string) *server {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mariadb-backup"), []byte("#!/bin/sh\n"+program+"\n"),
		0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	queue := eventloop.NewQueue()
	go func() {
		for {
			select {
			case e := <-queue.Events:
				e()
			case <-t.Context().Done():
				return
			}
		}
	}()
	run := &process.Supervisor{Proc: &mariadbd.Process{PID: 7}, Status: &agentapi.Server{
		Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: "11111111-2222-4333-8444-555555555555"}}
	s := &server{run: run, do: func(f func()) {
		done := make(chan struct{})
		queue.Post(func() { f(); close(done) })
		<-done
	}}
	s.streamer = New(queue.Loop(slog.New(slog.DiscardHandler)), platform.Places{Tmp: dir, Run: dir},
		&platform.ProcessTable{},
		&mariadbd.Image{ImageReport: agentapi.ImageReport{ServerVersion: "11.8.6-MariaDB"}}, run, "mysql",
		func() galera.Line {
			defer s.onBegin()
			return s.line
		}, func() (Keys, error) { return s.keys, s.noKeys },
		func(context.Context) (map[string]string, error) { return s.created, s.unknown })
	s.onBegin = func() {}
	s.line = galera.Line{ID: "recover-2-x", Epoch: 2}
	ca := pkitest.NewCA("ca")
	cert, key := ca.Issue(pkitest.Leaf{Names: []string{"db"}, NotAfter: time.Now().Add(time.Hour)})
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(s.streamer.Handler())
	web.TLS = s.streamer.TLSConfig(func() *tls.Certificate { return &own })
	web.StartTLS()
	t.Cleanup(web.Close)
	s.url, s.pair, s.hash = web.URL, own, agentapi.KeyHash(own.Leaf) // any pair will do for the caller
	return s
}

// take asks for a backup.
func (s *server) take(ctx context.Context, id string, certificates ...tls.Certificate) (body string,
	end agentapi.BackupEnd, status int, err error) {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: certificates}}} //nolint:gosec // whom it speaks to is not what is tested
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+agentapi.PathBackup+id, nil)
	if err != nil {
		return "", end, 0, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", end, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if trailer := resp.Trailer.Get(agentapi.TrailerBackup); trailer != "" {
		err = json.Unmarshal([]byte(trailer), &end)
	}
	return string(text), end, resp.StatusCode, err
}

func (s *server) admit(t *testing.T, id string) {
	t.Helper()
	if err := s.streamer.Admit(agentapi.BackupAdmission{ID: id, KeySHA256: s.hash}); err != nil {
		t.Fatal(err)
	}
}

func (s *server) report() (r agentapi.Report) {
	s.do(func() { s.streamer.Report(&r) })
	return r
}

func TestStream(t *testing.T) {
	s := start(t, complete)
	s.admit(t, "b1")
	body, end, _, err := s.take(t.Context(), "b1", s.pair)
	if err != nil || body != "data" || end.Error != "" || end.Position != "11111111-2222-4333-8444-555555555555:42" ||
		end.GTID != "0-1-7" || end.Line.ID != "recover-2-x" || end.ServerVersion != "11.8.6-MariaDB" {
		t.Errorf("%q %+v %v", body, end, err)
	}
	if b := s.report().Backup; b == nil || b.Running || b.Problem != "" || b.Bytes != 4 {
		t.Errorf("%+v", b)
	}
}

// TestStreamNamesItsKeys: the agent, and not a task that may be older than the running server, knows what the data are
// encrypted with. Where it does not know, it gives no backup.
func TestStreamNamesItsKeys(t *testing.T) {
	s := start(t, complete)
	s.admit(t, "b1")
	s.keys = Keys{Fingerprints: map[string]string{"1": "a"}, Algorithm: "AES_CBC"}
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || end.Keys["1"] != "a" ||
		end.Algorithm != "AES_CBC" {
		t.Errorf("%+v %v", end, err)
	}
	s.noKeys = errors.New("they cannot be read")
	if body, _, status, err := s.take(t.Context(), "b1", s.pair); err != nil || status != http.StatusConflict ||
		!strings.Contains(body, "they cannot be read") {
		t.Errorf("%q %d %v", body, status, err)
	}
}

// TestFailedStream: half a copy is never taken for a whole one.
func TestFailedStream(t *testing.T) {
	s := start(t, fails)
	s.admit(t, "b1")
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || !strings.Contains(end.Error, "exit code 1") ||
		!strings.Contains(end.Error, "cannot read") {
		t.Errorf("%+v %v", end, err)
	}
}

// TestOnlyTheAdmittedKeyTakesTheBackup: only the key that is admitted, only that backup, and only for a while.
func TestOnlyTheAdmittedKeyTakesTheBackup(t *testing.T) {
	s := start(t, complete)
	if _, _, _, err := s.take(t.Context(), "b1", s.pair); err == nil {
		t.Error("nothing is admitted, and it is given")
	}
	s.admit(t, "b1")
	if _, _, _, err := s.take(t.Context(), "b1"); err == nil {
		t.Error("a caller without a certificate is let in")
	}
	ca := pkitest.NewCA("other")
	cert, key := ca.Issue(pkitest.Leaf{Names: []string{"x"}, NotAfter: time.Now().Add(time.Hour)})
	other, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.take(t.Context(), "b1", other); err == nil {
		t.Error("another key is let in")
	}
	if _, _, status, err := s.take(t.Context(), "b2", s.pair); err != nil || status != http.StatusForbidden {
		t.Errorf("another backup: %d %v", status, err)
	}
	s.streamer.mu.Lock()
	s.streamer.until = time.Now().Add(-time.Second)
	s.streamer.mu.Unlock()
	if _, _, _, err := s.take(t.Context(), "b1", s.pair); err == nil {
		t.Error("an admission holds for ever")
	}
	for _, a := range []agentapi.BackupAdmission{{}, {ID: "../x", KeySHA256: s.hash}, {ID: "b1", KeySHA256: "short"}} {
		if s.streamer.Admit(a) == nil {
			t.Errorf("%+v is admitted", a)
		}
	}
}

// TestRefusesWhileBusyOrNotServing: one at a time, and only while the member serves.
func TestRefusesWhileBusyOrNotServing(t *testing.T) {
	s := start(t, endless)
	s.admit(t, "b1")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, _, err := s.take(ctx, "b1", s.pair)
		first <- err
	}()
	for b := s.report().Backup; b == nil || b.Bytes == 0; b = s.report().Backup {
		time.Sleep(time.Millisecond)
	}
	if _, _, status, err := s.take(t.Context(), "b1", s.pair); err != nil || status != http.StatusConflict {
		t.Errorf("a second one: %d %v", status, err)
	}
	var busy string
	if s.do(func() { busy = s.streamer.Busy() }); busy == "" {
		t.Error("the agent may be replaced meanwhile")
	}
	cancel() // the caller goes, and mariadb-backup with it
	if err := <-first; err == nil {
		t.Error("the stream of a caller that went has ended well")
	}
	for b := s.report().Backup; b.Running; b = s.report().Backup {
		time.Sleep(time.Millisecond)
	}
	s.do(func() { s.run.Status.State = galera.NodeJoined })
	if _, _, status, err := s.take(t.Context(), "b1", s.pair); err != nil || status != http.StatusConflict {
		t.Errorf("of a member that does not serve: %d %v", status, err)
	}
}

// TestLineOfHistory: a copy that spans two lines of history is none, because nothing records which transactions it has.
func TestLineOfHistory(t *testing.T) {
	s := start(t, complete)
	s.admit(t, "b1")
	s.do(func() { s.line.ID = "recover-3-y" })
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || end.Error != "" || end.Line.ID != "recover-3-y" {
		t.Errorf("%+v %v", end, err)
	}
	s.onBegin = func() { s.line.ID = "rebuild-4-z" }
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || end.Error != errLine.Error() {
		t.Errorf("%+v %v", end, err)
	}
}

// TestCreated: a copy names what its data directory was created with, and is none the less for a server that does not
// say so.
func TestCreated(t *testing.T) {
	s := start(t, complete)
	s.admit(t, "b1")
	s.created = map[string]string{"lower_case_table_names": "1"}
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || end.Error != "" ||
		end.Created["lower_case_table_names"] != "1" {
		t.Errorf("%+v %v", end, err)
	}
	s.created, s.unknown = nil, errors.New("it does not answer")
	if _, end, _, err := s.take(t.Context(), "b1", s.pair); err != nil || end.Error != "" || end.Created != nil {
		t.Errorf("not known: %+v %v", end, err)
	}
}

// TestBackupEndsWithItsServer: a backup ends with the server it is of.
func TestBackupEndsWithItsServer(t *testing.T) {
	s := start(t, endless)
	s.admit(t, "b1")
	ended := make(chan agentapi.BackupEnd, 1)
	go func() {
		_, end, _, _ := s.take(t.Context(), "b1", s.pair)
		ended <- end
	}()
	for b := s.report().Backup; b == nil || b.Bytes == 0; b = s.report().Backup {
		time.Sleep(time.Millisecond)
	}
	s.do(func() { s.run.Proc = nil; s.streamer.Tick() })
	if end := <-ended; !strings.Contains(end.Error, "mariadbd has stopped") {
		t.Errorf("%+v", end)
	}
}
