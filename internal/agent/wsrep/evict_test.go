package wsrep

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	ownUUID  = "a64b45c3-e5dd-11f1-8ddf-6aff9cf681c1"
	goneUUID = "b0f85ea1-e5dd-11f1-8e44-c6d28b733365"
)

func TestEvict(t *testing.T) {
	for name, tc := range map[string]struct {
		component  galera.ComponentState
		view       int64
		before     func(*Evictions)
		gone       string
		wantReport bool
	}{
		"one of its own view": {component: galera.ComponentPrimary, view: 7, gone: goneUUID, wantReport: true},
		"of another view":     {component: galera.ComponentPrimary, view: 8, gone: goneUUID},
		"without quorum":      {component: galera.ComponentNonPrimary, view: 7, gone: goneUUID},
		"itself":              {component: galera.ComponentPrimary, view: 7, gone: ownUUID},
		"what is no UUID":     {component: galera.ComponentPrimary, view: 7, gone: "x' OR '1"},
		"the second of one view": {component: galera.ComponentPrimary, view: 7, gone: goneUUID,
			before: func(e *Evictions) { e.viewID = 7 }},
		"just after one from the view before": {component: galera.ComponentPrimary, view: 7, gone: goneUUID,
			before: func(e *Evictions) { e.lastAt = time.Now() }},
		"long after one from the view before": {component: galera.ComponentPrimary, view: 7, gone: goneUUID,
			before: func(e *Evictions) { e.viewID, e.lastAt = 6, time.Now().Add(-time.Minute) }, wantReport: true},
	} {
		t.Run(name, func(t *testing.T) {
			reported := ""
			e := Evictions{Logger: slog.New(slog.DiscardHandler),
				Status: func(context.Context) (Status, error) {
					return Status{Server: agentapi.Server{Component: tc.component, ViewID: tc.view, NodeUUID: ownUUID}}, nil
				},
				Settling:    func() {},
				EvictServer: func(_ context.Context, uuid string) error { reported = uuid; return nil },
			}
			if tc.before != nil {
				tc.before(&e)
			}
			err := e.Evict(context.Background(), agentapi.Eviction{NodeUUID: tc.gone, ViewID: 7})
			if (err == nil) != tc.wantReport || (reported == tc.gone) != tc.wantReport {
				t.Errorf("evicted %q, error %v", reported, err)
			}
		})
	}
}

func TestSettling(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		since time.Time
		want  bool
	}{
		"no server was evicted": {},
		"a server was":          {since: now.Add(-time.Second), want: true},
		"it takes far too long": {since: now.Add(-time.Minute)},
	} {
		if got := (&Forgetting{since: tc.since}).Settling(now); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
