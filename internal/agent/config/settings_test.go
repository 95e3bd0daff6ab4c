package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// TestSettingsAreCheckedBesideTheLoop: a mariadbd that takes its time is not waited for.
func TestSettingsAreCheckedBesideTheLoop(t *testing.T) {
	dir, events := t.TempDir(), make(chan func(), 1)
	img := image.Image{Mariadbd: filepath.Join(dir, "mariadbd")}
	if err := os.WriteFile(img.Mariadbd, []byte("#!/bin/sh\nsleep 1\necho '[ERROR] unknown variable'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	loop := room.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler),
		Work: func(limit time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), limit)
		}}
	s := New(loop, paths.Places{Run: dir, Tmp: dir, Config: dir}, Member{Name: "shop-0"}, &img, &procs.Table{}, nil, Events{})
	config := agentapi.NodeConfig{Settings: map[string]string{"x": "y"}}
	output := servercnf.Output{MyCnf: mycnf.File{{Name: "mysqld", Options: []mycnf.Option{mycnf.Set("x", "y")}}}}
	began := time.Now()
	if known, err := s.checkSettings(config, output); known || err != nil || time.Since(began) > 900*time.Millisecond {
		t.Fatalf("waited for: %v, %v", known, err)
	}
	if known, _ := s.checkSettings(config, output); known {
		t.Error("known before the end")
	}
	(<-events)()
	if known, err := s.checkSettings(config, output); !known || err == nil || !strings.Contains(err.Error(), "unknown variable") {
		t.Errorf("%v, %v", known, err)
	}
}
