package observe

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestForeignMembers: what is in the component and is no node of the cluster is named by its UUID, once it has been
// seen for two minutes. A copy has the names of the originals.
func TestForeignMembers(t *testing.T) {
	group := func(uuids ...string) (out []agentapi.GroupMember) {
		for i := 0; i < len(uuids); i += 2 {
			out = append(out, agentapi.GroupMember{UUID: uuids[i], Name: uuids[i+1], Address: "10.0.0.9:3306"})
		}
		return out
	}
	ours := group("u0", "shop-0", "u1", "shop-1")
	garbd := &galera.Arbitrator{Known: true, Process: "arbitrator.a"}
	for name, tc := range map[string]struct {
		group      []agentapi.GroupMember
		silent     bool // shop-1 does not answer
		arbitrator *galera.Arbitrator
		want       string
	}{
		"all are ours":                      {group: ours, want: "[]"},
		"a copy of a node":                  {group: append(group("c1", "shop-1"), ours...), want: "[c1]"},
		"one of another name":               {group: append(group("x", "spare"), ours...), want: "[x]"},
		"a silent node is in the component": {group: ours, silent: true, want: "[]"},
		"its copy, too": {group: append(ours[:2:2], group("c1", "shop-1")...), silent: true,
			want: "[c1]"},
		"our arbitrator": {group: append(ours[:2:2], group("g", "arbitrator.a")...), arbitrator: garbd,
			want: "[]"},
		"another one's": {group: append(ours[:2:2], group("g", "arbitrator.b")...), arbitrator: garbd,
			want: "[g]"},
		"an arbitrator, and we have none":   {group: append(ours[:2:2], group("g", "arbitrator.b")...), want: "[g]"},
		"the members of the view not known": {want: "[]"},
		"ours does not report its process": {group: append(ours[:2:2], group("g", "arbitrator.b")...),
			arbitrator: &galera.Arbitrator{}, want: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s, seen := galera.Snapshot{Arbitrator: tc.arbitrator}, map[string]Seen{}
			for i := range 2 {
				m := galera.Member{Name: fmt.Sprintf("shop-%d", i)}
				if m.Known = i == 0 || !tc.silent; m.Known {
					m.Server = &galera.Server{Component: galera.ComponentPrimary}
					seen[m.Name] = Seen{Live: true, Report: agentapi.Report{Server: &agentapi.Server{NodeUUID: fmt.Sprintf("u%d", i),
						Group: tc.group}}}
				}
				s.Members = append(s.Members, m)
			}
			var w Waits
			key, now := types.NamespacedName{Name: "shop"}, time.Unix(1_800_000_000, 0)
			find := func(after time.Duration) string {
				var ids []string
				for _, m := range w.ForeignMembers(key, s, seen, now.Add(after)).Members {
					ids = append(ids, m.UUID)
				}
				return fmt.Sprint(ids)
			}
			if got := find(0) + find(foreignMemberDelay-time.Second); got != "[][]" {
				t.Errorf("at once: %s", got)
			}
			if got := find(foreignMemberDelay); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestLongNamesAreNoStrangers: a joiner that does not answer yet is known by the name that the group has for it.
func TestLongNamesAreNoStrangers(t *testing.T) {
	const joiner = "a-cluster-with-quite-a-long-name-1"
	s := galera.Snapshot{Members: []galera.Member{
		{Name: "a-cluster-with-quite-a-long-name-0", Known: true, Server: &galera.Server{Component: galera.ComponentPrimary}},
		{Name: joiner}}}
	group := []agentapi.GroupMember{{UUID: "u0"}, {UUID: "u1", Name: agentapi.GroupName(joiner)}}
	seen := map[string]Seen{s.Members[0].Name: {Live: true,
		Report: agentapi.Report{Server: &agentapi.Server{NodeUUID: "u0", Group: group}}}}
	if got := foreignMembers(s, seen); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestMisled: a node that serves is not misled; one that waits for peers whose addresses lead elsewhere is.
func TestMisled(t *testing.T) {
	staging := agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: "two"}
	s := galera.Snapshot{Members: []galera.Member{{Name: "shop-0", Known: true}}}
	seen := map[string]Seen{"shop-0": {Live: true,
		Report: agentapi.Report{OtherPeers: map[string]agentapi.Identity{"shop-2": staging, "shop-1": staging}}}}
	var w Waits
	key, now := types.NamespacedName{Name: "shop"}, time.Unix(1_800_000_000, 0)
	if got := w.ForeignMembers(key, s, seen, now); len(got.Misled) != 0 {
		t.Errorf("at once: %+v", got)
	}
	got := w.ForeignMembers(key, s, seen, now.Add(foreignMemberDelay))
	if len(got.Misled) != 1 || fmt.Sprint(got.Misled[0].Peers) != "[shop-1 shop-2]" || got.Misled[0].Of != staging {
		t.Errorf("%+v", got)
	}
	s.Members[0].Server = &galera.Server{Component: galera.ComponentPrimary}
	seen["shop-0"].Report.OtherPeers["shop-3"] = staging
	if got := misled(s, seen); len(got) != 0 {
		t.Errorf("it serves: %+v", got)
	}
}
