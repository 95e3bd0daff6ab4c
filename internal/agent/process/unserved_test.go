package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestServed: a member whose order book cannot be read may have been in a component.
func TestServed(t *testing.T) {
	for name, c := range map[string]struct {
		epoch   int64
		damaged error
		want    bool
	}{
		"nothing recorded":   {0, nil, false},
		"a line of history":  {3, nil, true},
		"an unreadable book": {0, errors.New("unexpected end of JSON input"), true},
	} {
		r := Examiner{book: func() orders.Content {
			return orders.Content{Lineage: galera.Lineage{Line: galera.Line{Epoch: c.epoch}}}
		}, damaged: func() error { return c.damaged }}
		if got := r.served(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// failing and unplaced are servers: one that does not start, and one that finds no position of Galera's.
const (
	failing  = "echo '[ERROR] the innodb_page_size start-up parameter is 32768' >&2\nexit 1\n"
	unplaced = "echo '[Note] WSREP: Recovered position: 00000000-0000-0000-0000-000000000000:-1' >&2\n"
)

// TestFirstDatabaseThatNoServerStartsOn is removed, so that it can be made again with other settings. One that may hold
// a write is kept.
func TestFirstDatabaseThatNoServerStartsOn(t *testing.T) {
	for name, c := range map[string]struct {
		initialising, served, interrupted bool
		removed                           bool
		server                            string
	}{
		"never served":                                {true, false, false, true, failing},
		"in a line of history":                        {true, true, false, false, failing},
		"the marker has gone":                         {false, false, false, false, failing},
		"the check was interrupted":                   {true, false, true, false, failing},
		"without a position":                          {true, false, false, true, unplaced},
		"without a position, in a line of history":    {true, true, false, false, unplaced},
		"without a position, and the marker has gone": {false, false, false, false, unplaced},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := platform.Places{Volume: dir, Data: filepath.Join(dir, "data"), State: filepath.Join(dir, "agent"), Run: dir,
				Tmp: dir}
			server := filepath.Join(dir, "mariadbd")
			for path, text := range map[string]string{server: "#!/bin/sh\n" + c.server,
				filepath.Join(p.Data, "ibdata1"): "x"} {
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o750); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(p.State, 0o750); err != nil {
				t.Fatal(err)
			}
			markers := datadir.Markers{Dir: p.State}
			if c.initialising {
				if err := markers.SetInitialising(); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.interrupted {
				cancel()
			}
			r := Examiner{loop: eventloop.Loop{Logger: slog.New(slog.DiscardHandler)}, places: p, markers: markers,
				image: &mariadbd.Image{Mariadbd: server}, table: &platform.ProcessTable{}}
			found, err := r.data(ctx, c.served, nil)
			if c.server == failing && (err == nil) != c.removed || c.removed && found.Data != galera.DataEmpty ||
				c.server == unplaced && !c.removed && (err != nil || found.Trouble == nil) {
				t.Errorf("%+v, %v", found, err)
			}
			if _, err := os.Stat(filepath.Join(p.Data, "ibdata1")); os.IsNotExist(err) != c.removed {
				t.Errorf("removed: %v", err)
			}
			if markers.Initialising() != (c.initialising && !c.removed) {
				t.Error("the marker")
			}
		})
	}
}
