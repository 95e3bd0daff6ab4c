package agent

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestAwaitSpace: a copy that cannot fit is not begun.
func TestAwaitSpace(t *testing.T) {
	r := Starter{StarterDependencies: StarterDependencies{Run: &process.Supervisor{}, Volume: &datadir.Volume{},
		Group: &api.Peers{},
		Exam:  &process.Examiner{}, Image: &mariadbd.Image{},
		Config: &config.Manager{Node: &agentapi.NodeConfig{}}}}
	r.Volume.At(platform.Places{Volume: t.TempDir(), Data: t.TempDir()})
	yes := lifecycle.JoinDecision{Join: true}
	for name, c := range map[string]struct {
		data  galera.DataState
		bytes int64
		fails bool
	}{
		"not known":         {galera.DataEmpty, 0, false},
		"little":            {galera.DataEmpty, 1 << 20, false},
		"far too much":      {galera.DataEmpty, 1 << 60, true},
		"half a copy here":  {galera.DataIncomplete, 1 << 60, true},
		"no copy is wanted": {galera.DataPresent, 1 << 60, false},
	} {
		r.Group.Views = agenttest.Primary("a", func(p *agentapi.PeerView) { p.DataBytes = c.bytes })
		r.Exam.Found = process.Found{Data: c.data}
		v := r.awaitDonor(yes)
		if v.Join == c.fails || c.fails && v.Failure.Reason != agentapi.FailureDiskFull {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestOtherCluster: a copy of a volume starts nothing in another cluster, whatever history it holds; the resource that
// was created again takes it back.
func TestOtherCluster(t *testing.T) {
	orders := orders.NewStore(eventloop.Loop{Logger: slog.New(slog.DiscardHandler)}, nil)
	orders.Open(t.TempDir())
	r := Starter{StarterDependencies: StarterDependencies{Orders: &orders, Exam: &process.Examiner{},
		Config: &config.Manager{}}}
	prod := agentapi.NodeConfig{Namespace: "prod", Cluster: "shop", UID: "one"}
	staging, again := prod, prod
	staging.Namespace, again.UID = "staging", "two"
	try := func(what string, node agentapi.NodeConfig, data galera.DataState, refused bool) {
		t.Helper()
		r.Config.Node, r.Exam.Found.Data = &node, data
		f := otherCluster(r.StarterDependencies)
		if (f != nil) != refused || f != nil && (f.Reason != agentapi.FailureOtherCluster || !strings.Contains(f.Message,
			"prod/shop")) {
			t.Errorf("%s: %+v", what, f)
		}
	}
	try("nothing is recorded", staging, galera.DataPresent, false)
	content, err := orders.Write(orders.Book.Belong(prod.Identity()))
	if err != nil {
		t.Fatal(err)
	}
	orders.Take(content)
	try("its own cluster", prod, galera.DataPresent, false)
	try("a copied namespace", staging, galera.DataPresent, true)
	try("an empty volume", staging, galera.DataEmpty, false)
	try("created again", again, galera.DataPresent, false)
}
