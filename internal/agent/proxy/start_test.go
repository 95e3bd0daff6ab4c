package proxy

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// silent is a proxy whose ProxySQL runs, and answers nothing.
func silent(t *testing.T) *proxy {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "proxysql")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p := &proxy{Options: Options{Dir: dir, Program: program, Logger: slog.New(slog.DiscardHandler), Address: "127.0.0.1",
		Output: func(string) {}, Limit: 300 * time.Millisecond}, kick: make(chan struct{}, 1),
		material: certs.Material{Cert: []byte("x"), Key: []byte("x"), CA: []byte("x")}}
	t.Cleanup(func() {
		if p.process != nil {
			p.process.Kill()
			<-p.process.Done()
		}
	})
	return p
}

// TestAStartHasALimit: a ProxySQL that starts and never answers is ended, and the loop goes on.
func TestAStartHasALimit(t *testing.T) {
	p := silent(t)
	err := p.start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not answered in time") {
		t.Fatal(err)
	}
	<-p.process.Done()
}

// TestAHungProxySQLIsReplaced: one that does not answer any more is ended after a while, and not before.
func TestAHungProxySQLIsReplaced(t *testing.T) {
	p := silent(t)
	process, err := mariadbd.Start(&p.table, mariadbd.Command{Path: p.Program, Dir: p.Dir, Log: p.Output})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := openAdmin(filepath.Join(p.Dir, "admin.sock"), "x")
	if err != nil {
		t.Fatal(err)
	}
	p.run = run{process: process, admin: closed, answered: time.Now()}
	p.Limit = time.Hour
	if err := p.ensure(t.Context()); err == nil || process.Killed() {
		t.Fatal("it is killed at once, or counts as answering", err)
	}
	p.answered = time.Now().Add(-2 * time.Hour)
	if err := p.ensure(t.Context()); err == nil {
		t.Fatal("it counts as answering")
	}
	<-process.Done()
}

// TestATruncatedStateChangesNothing: a pod keeps what it runs with while the mounted state cannot be read.
func TestATruncatedStateChangesNothing(t *testing.T) {
	dir := t.TempDir()
	p := &proxy{Options: Options{StateDir: dir, TLSDir: dir}, kick: make(chan struct{}, 1)}
	p.take(state())
	for _, text := range []string{"", "{", `{"revision":9}`, `{"revision":9,"mode":"Primary"}`, "[]", "null"} {
		if err := os.WriteFile(filepath.Join(dir, agentapi.ProxyStateKey), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.read()
		if p.wanted.Revision != 1 || len(p.wanted.Nodes) != 3 {
			t.Errorf("%q: %+v", text, p.wanted)
		}
	}
}
