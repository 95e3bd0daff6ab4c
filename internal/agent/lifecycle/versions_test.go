package lifecycle

import (
	"maps"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	older = "10.11.18-MariaDB"
	later = "11.8.6-MariaDB"
)

func TestJudgeVersions(t *testing.T) {
	runs := func(name, version string, edits ...func(*agentapi.PeerView)) map[string]agentapi.PeerView {
		return primary(name, func(p *agentapi.PeerView) {
			p.Version = version
			for _, edit := range edits {
				edit(p)
			}
		})
	}
	leaves := func(p *agentapi.PeerView) { p.Draining = true }
	alone := func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary }
	both := func(a, b map[string]agentapi.PeerView) map[string]agentapi.PeerView {
		all := maps.Clone(a)
		maps.Copy(all, b)
		return all
	}
	may, waits := JoinDecision{Join: true}, JoinDecision{Wait: "for a peer"}
	used := Build{Image: older, Newer: later}
	for name, c := range map[string]struct {
		build Build
		v     JoinDecision
		peers map[string]agentapi.PeerView
		join  bool
		says  string
	}{
		"all alike":                             {Build{Image: later}, may, runs("b", later), true, ""},
		"the first that is upgraded":            {Build{Image: later}, may, runs("b", older), true, ""},
		"a new one in the middle of an upgrade": {Build{Image: later}, may, runs("b", older), true, ""},
		"the last that is not, which was away": {Build{Image: older}, may, runs("b", later), false,
			"would have to come from b"},
		"one of its own series can help": {Build{Image: older}, may, both(runs("b", later), runs("c", older)), true,
			""},
		"a later one without a component": {Build{Image: older}, may,
			both(runs("b", later, alone), runs("c", older)), true, ""},
		"a peer that reports no version":           {Build{Image: older}, may, runs("b", ""), true, ""},
		"no peer is there":                         {Build{Image: older}, waits, nil, false, ""},
		"later data, and only later servers":       {used, may, runs("b", later), false, later + " has used the data"},
		"later data, and no peer":                  {used, waits, nil, false, "empty volume"},
		"later data, and it may not join":          {used, waits, runs("b", older), false, "empty volume"},
		"later data, and others to be copied":      {used, may, both(runs("b", later), runs("c", older)), true, ""},
		"later data, and one that leaves":          {used, may, runs("b", older, leaves), false, "empty volume"},
		"later data, and others of who knows what": {used, may, runs("b", ""), false, "empty volume"},
	} {
		t.Run(name, func(t *testing.T) {
			v := JudgeVersions(c.build, c.v, c.peers)
			if v.Join != c.join || (v.Failure != nil) != (c.says != "") {
				t.Fatalf("%+v", v)
			}
			if c.says != "" && (v.Failure.Reason != agentapi.FailureDowngrade || !strings.Contains(v.Failure.Message, c.says)) {
				t.Errorf("%s: %s", v.Failure.Reason, v.Failure.Message)
			}
		})
	}
}
