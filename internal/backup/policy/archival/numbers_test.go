package archival

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// given has the nodes given one number so long ago.
func given(f *Facts, ago time.Duration) {
	f.Cluster.Status.Backup = &v1alpha1.ArchiveStatus{AlignedAt: new(metav1.NewTime(f.Now.Add(-ago)))}
}

// TestAlign: nodes get one number only while all of them are Synced and were compared, and what waits is said.
func TestAlign(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		align  bool
		says   string
	}{
		"numbers differ":       {func(*Facts) {}, true, "gives all of them one number"},
		"they do not":          {func(f *Facts) { f.Archived.Skew = nil }, false, ""},
		"the archiver is away": {func(f *Facts) { f.Archived = nil }, false, ""},
		"the cluster is not Ready": {func(f *Facts) { f.Cluster.Status.Conditions[0].Status = metav1.ConditionFalse }, false,
			"to be Ready"},
		"it has no primary":               {func(f *Facts) { f.Cluster.Status.Primary = "" }, false, "to be Ready"},
		"a node was not compared":         {func(f *Facts) { f.Archived.Skew.Nodes = 2 }, false, "2 of 3 nodes are known"},
		"a node is joining":               {func(f *Facts) { f.Cluster.Status.Members[2].NodeState = "Joining" }, false, "shop-2"},
		"they were given one a while ago": {func(f *Facts) { given(f, alignInterval) }, true, "gives all of them one number"},
		"they were given one just now":    {func(f *Facts) { given(f, alignInterval-time.Second) }, false, "get another one at"},
		"a node has lost the rest":        {func(f *Facts) { f.Cluster.Status.Members[1].ComponentState = "" }, false, "shop-1"},
	} {
		f := with()
		f.Cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		f.Cluster.Status.Primary = "shop-0"
		for _, n := range []string{"shop-0", "shop-1", "shop-2"} {
			f.Cluster.Status.Members = append(f.Cluster.Status.Members, v1alpha1.MemberStatus{Name: n, NodeState: "Synced",
				ComponentState: "Primary"})
		}
		f.Archived.Skew = &task.Skew{Why: "0-1-7 is 0-1-8", Spread: 1, Seqno: 9, Nodes: 3}
		c.change(&f)
		align, why := Align(f)
		to := &v1alpha1.ArchiveStatus{}
		Decide(to, f)
		if align != c.align || (why == "") != (c.says == "") || !strings.Contains(why, c.says) ||
			strings.Contains(to.Message, "differently (0-1-7 is 0-1-8): "+c.says) != (c.says != "") &&
				!strings.Contains(to.Message, c.says) {
			t.Errorf("%s: %v, %q; %q", name, align, why, to.Message)
		}
	}
}

// TestClocks: clocks that differ are named, in whatever state the archive is.
func TestClocks(t *testing.T) {
	for name, change := range map[string]func(*Facts){"well": func(*Facts) {},
		"without a base": func(f *Facts) { f.Archived.Base = "" }} {
		f, to := with(change), &v1alpha1.ArchiveStatus{}
		if Decide(to, f); strings.Contains(to.Message, "clock") {
			t.Errorf("%s: %s", name, to.Message)
		}
		f.Archived.Clocks = "clocks differ"
		if Decide(to, f); !strings.HasSuffix(to.Message, "; clocks differ") {
			t.Errorf("%s: %s", name, to.Message)
		}
		f.Archived = nil
		Decide(to, f)
	}
}
