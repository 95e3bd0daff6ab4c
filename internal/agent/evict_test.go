package agent

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	ownUUID  = "a64b45c3-e5dd-11f1-8ddf-6aff9cf681c1"
	goneUUID = "b0f85ea1-e5dd-11f1-8e44-c6d28b733365"
)

func TestEvict(t *testing.T) {
	for name, tc := range map[string]struct {
		component galera.ComponentState
		view      int64
		before    func(*evictions)
		gone      string
		told      bool
	}{
		"one of its own view":                 {component: galera.ComponentPrimary, view: 7, gone: goneUUID, told: true},
		"of another view":                     {component: galera.ComponentPrimary, view: 8, gone: goneUUID},
		"without quorum":                      {component: galera.ComponentNonPrimary, view: 7, gone: goneUUID},
		"itself":                              {component: galera.ComponentPrimary, view: 7, gone: ownUUID},
		"what is no UUID":                     {component: galera.ComponentPrimary, view: 7, gone: "x' OR '1"},
		"the second of one view":              {component: galera.ComponentPrimary, view: 7, gone: goneUUID, before: func(e *evictions) { e.viewID = 7 }},
		"just after one from the view before": {component: galera.ComponentPrimary, view: 7, gone: goneUUID, before: func(e *evictions) { e.lastAt = time.Now() }},
		"long after one from the view before": {component: galera.ComponentPrimary, view: 7, gone: goneUUID, before: func(e *evictions) { e.viewID, e.lastAt = 6, time.Now().Add(-time.Minute) }, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			told := ""
			e := evictions{logger: slog.New(slog.DiscardHandler),
				status: func(context.Context) (wsrep.Status, error) {
					return wsrep.Status{Server: agentapi.Server{Component: tc.component, ViewID: tc.view, NodeUUID: ownUUID}}, nil
				},
				settling: func() {},
				tell:     func(_ context.Context, uuid string) error { told = uuid; return nil },
			}
			if tc.before != nil {
				tc.before(&e)
			}
			err := e.evict(context.Background(), agentapi.Eviction{NodeUUID: tc.gone, ViewID: 7})
			if (err == nil) != tc.told || (told == tc.gone) != tc.told {
				t.Errorf("told %q, error %v", told, err)
			}
		})
	}
}

func TestEndedAs(t *testing.T) {
	primary := agentapi.Server{Component: galera.ComponentPrimary, ViewID: 7, NodeUUID: goneUUID}
	lost := primary
	lost.Component = galera.ComponentNonPrimary
	for name, tc := range map[string]struct {
		status  *agentapi.Server
		view    int64
		orderly bool
		known   bool
	}{
		"killed":                        {status: &primary, view: 7, known: true},
		"stopped in good order":         {status: &primary, view: 7, orderly: true},
		"never answered":                {},
		"without quorum":                {status: &lost, view: 7},
		"told of a view not seen yet":   {status: &primary, view: 0},
		"seen in another than was told": {status: &primary, view: 6},
	} {
		a := &agent{}
		a.status, a.view.ID = tc.status, tc.view
		if got := a.endedAs(tc.orderly); (got != nil) != tc.known || tc.known && (got.ViewID != 7 || got.NodeUUID != goneUUID) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSettling(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		since time.Time
		want  bool
	}{
		"nobody was evicted":    {},
		"somebody was":          {since: now.Add(-time.Second), want: true},
		"it takes far too long": {since: now.Add(-time.Minute)},
	} {
		if got := (forgetting{since: tc.since}).settling(now); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	peers := map[string]agentapi.PeerView{
		"shop-0": {Name: "shop-0", Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: goneUUID},
		"shop-1": {Name: "shop-1", Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: goneUUID, Settling: true},
	}
	if v := lifecycle.JudgeJoin(lifecycle.Joiner{}, peers); v.Join || v.Wait == "" || v.Failure != nil {
		t.Errorf("joins while the group settles: %+v", v)
	}
	delete(peers, "shop-1")
	if v := lifecycle.JudgeJoin(lifecycle.Joiner{}, peers); !v.Join {
		t.Errorf("does not join: %+v", v)
	}
	peers["shop-0"] = agentapi.PeerView{Name: "shop-0", Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: goneUUID, Members: []string{"shop-0", "shop-2"}}
	if v := lifecycle.JudgeJoin(lifecycle.Joiner{Crashed: "shop-2"}, peers); v.Join || v.Wait == "" || v.Failure != nil {
		t.Errorf("joins while the group counts on its last server: %+v", v)
	}
	if v := lifecycle.JudgeJoin(lifecycle.Joiner{Crashed: "shop-1"}, peers); !v.Join {
		t.Errorf("does not join, though nobody counts on it: %+v", v)
	}
}
