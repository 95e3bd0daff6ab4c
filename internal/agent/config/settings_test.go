package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestSettingsCheckDoesNotBlockTheLoop: a mariadbd that takes its time is not waited for.
func TestSettingsCheckDoesNotBlockTheLoop(t *testing.T) {
	dir, events := t.TempDir(), make(chan func(), 1)
	img := mariadbd.Image{Mariadbd: filepath.Join(dir, "mariadbd")}
	if err := os.WriteFile(img.Mariadbd, []byte("#!/bin/sh\nsleep 1\necho '[ERROR] unknown variable'\nexit 1\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	loop := eventloop.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler),
		Work: func(limit time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), limit)
		}}
	s := NewManager(loop, platform.Places{Run: dir, Tmp: dir, Config: dir}, Member{Name: "shop-0"}, &img,
		&platform.ProcessTable{}, nil,
		Events{})
	config := agentapi.NodeConfig{Settings: map[string]string{"x": "y"}}
	output := Output{MyCnf: mycnf.File{{Name: "mysqld", Options: []mycnf.Option{mycnf.Set("x", "y")}}}}
	began := time.Now()
	if known, err := s.checkSettings(config, output); known || err != nil || time.Since(began) > 900*time.Millisecond {
		t.Fatalf("waited for: %v, %v", known, err)
	}
	if known, _ := s.checkSettings(config, output); known {
		t.Error("known before the end")
	}
	(<-events)()
	if known, err := s.checkSettings(config, output); !known || err == nil || !strings.Contains(err.Error(),
		"unknown variable") {
		t.Errorf("%v, %v", known, err)
	}
}

// TestLateSettingsCheck: a check that does not end in time is made again, and reported only when none ends.
func TestLateSettingsCheck(t *testing.T) {
	var c checked
	for range checkTries - 1 {
		if c = c.judged("a", context.DeadlineExceeded); c.text != "" || c.err != nil {
			t.Fatalf("%+v", c)
		}
	}
	if got := c.judged("b", context.DeadlineExceeded); got.text != "" || got.late != 1 {
		t.Errorf("other settings are as old as those before: %+v", got)
	}
	refused := errors.New("unknown variable")
	if got := c.judged("a", refused); got.text != "a" || !errors.Is(got.err, refused) || got.late != 0 {
		t.Errorf("an answer: %+v", got)
	}
	if got := c.judged("a", context.DeadlineExceeded); got.text != "a" || got.err == nil || got.late != 0 ||
		!strings.Contains(got.err.Error(), "has not answered") {
		t.Errorf("none ends: %+v", got)
	}
}

// TestCheckReason: only what mariadbd says of settings is the settings' fault.
func TestCheckReason(t *testing.T) {
	var c checked
	for range checkTries {
		c = c.judged("a", context.DeadlineExceeded)
	}
	for want, err := range map[agentapi.ConfigReason]error{
		agentapi.ConfigSettings:   fmt.Errorf("%w: unknown variable", mariadbd.ErrSettings),
		agentapi.ConfigUnchecked:  c.err,
		agentapi.ConfigNotWritten: fmt.Errorf("%w: no space", errDraft),
	} {
		if got := checkReason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestCopiedConfiguration: the configuration of a cluster of another namespace names that cluster's hosts, and nothing
// is made of it.
func TestCopiedConfiguration(t *testing.T) {
	dir := t.TempDir()
	loop := eventloop.Loop{Post: func(func()) {}, Logger: slog.New(slog.DiscardHandler)}
	r := NewManager(loop, platform.Places{Run: dir, Tmp: dir, Config: dir}, Member{Name: "shop-0", Namespace: "staging"},
		&mariadbd.Image{},
		&platform.ProcessTable{}, nil, Events{Taken: func() { t.Error("taken") }})
	document := `{"cluster":"shop","namespace":"prod","uid":"one","revision":"1","members":[{"name":"shop-0","host":"shop-0.prod.svc"}],
		"tls":{"replication":"Plain","stateTransfer":"Disabled","clients":"Disabled","minVersion":"1.3"},
		"stateTransfer":{"method":"MariaBackup"}}`
	if err := os.WriteFile(filepath.Join(dir, agentapi.ConfigKey), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Read()
	if f := r.Missing(); r.Node != nil || f == nil || !strings.Contains(f.Message, "prod/shop") {
		t.Errorf("%+v, %+v", r.Node, f)
	}
	if got := r.Identity(); got != (agentapi.Identity{Namespace: "staging"}) {
		t.Errorf("%+v", got)
	}
	reason := func() agentapi.ConfigReason {
		var to agentapi.Report
		r.Report(&to)
		return to.Config.Reason
	}
	if got := reason(); got != agentapi.ConfigInvalid {
		t.Errorf("another cluster's configuration: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, agentapi.ConfigKey)); err != nil {
		t.Fatal(err)
	}
	if r.Read(); reason() != agentapi.ConfigUnreadable {
		t.Errorf("no configuration: %q", reason())
	}
}
