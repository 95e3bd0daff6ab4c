package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestClosed: nodes that refuse writes because another site is to take over go on so when the status is lost, or is an
// earlier one: a token may have been given.
func TestClosed(t *testing.T) {
	config := func(uid string, number int64) agentapi.NodeConfig {
		return agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: uid, Revision: "r", Refuse: number > 0,
			Refusal: agentapi.Refusal{Switching: number, SwitchingIn: `{"kind":"S3","bucket":"backups"}`,
				SwitchingFrom: "v"}}
	}
	node := func(uid string, by int64, live bool) Seen { // it need not know where it ends
		return Seen{Live: live, Report: agentapi.Report{Refusal: config(uid, by).Refusal,
			Cluster: agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: uid}}}
	}
	ends := node("u", 0, true) // by an agent of before
	ends.Report.Refusal, ends.Report.Closed.By = agentapi.Refusal{}, 3
	status := func(number int64, phase string) *v1alpha1.SwitchSiteStatus {
		return &v1alpha1.SwitchSiteStatus{Number: number, Phase: phase}
	}
	for name, tc := range map[string]struct {
		config agentapi.NodeConfig
		node   Seen
		have   *v1alpha1.SwitchSiteStatus
		empty  bool
		want   int64
	}{
		"the configuration has it":        {config: config("u", 3), want: 3},
		"the status is an earlier one":    {config: config("u", 3), have: status(2, v1alpha1.SwitchTakenBack), want: 3},
		"it is known":                     {config: config("u", 3), have: status(3, v1alpha1.SwitchOffered)},
		"it was taken back just now":      {config: config("u", 3), have: status(3, v1alpha1.SwitchTakenBack)},
		"nodes accept writes":             {config: config("u", 0), node: node("u", 3, true)},
		"it is that of one before":        {config: config("x", 3)},
		"its volumes are gone":            {config: config("u", 3), empty: true},
		"a node has it":                   {node: node("u", 3, true), want: 3},
		"a node ends by it":               {node: ends, want: 3},
		"a node that does not answer had": {node: node("u", 3, false)},
		"a node of another cluster has":   {node: node("x", 3, true)},
		"nothing has it":                  {},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID, c.Status.Identity = "prod", "shop", types.UID("u"), "u"
		c.Status.SwitchSite = tc.have
		f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": {}},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		if tc.empty {
			f.Claims = nil
		}
		have := Closed(f, map[string]Seen{"shop-0": tc.node}, tc.config)
		if tc.want == 0 {
			if have != c {
				t.Errorf("%s: %+v", name, have.Status.SwitchSite)
			}
			continue
		}
		if have == c {
			t.Errorf("%s: it is forgotten", name)
			continue
		}
		if s := have.Status.SwitchSite; s.Number != tc.want || s.Phase != v1alpha1.SwitchWithdrawing || s.Token != nil ||
			!have.Refuses() {
			t.Errorf("%s: %+v", name, s)
		}
		in, from, before := have.Status.SwitchSite.Location, have.Status.SwitchSite.From, tc.node.Report.Closed.By > 0
		if (in != nil && in.Bucket == "backups") == before || (from == "v") == before {
			t.Errorf("%s: in %+v, from %q", name, in, from)
		}
		c.Status.Identity = ""
		if again := Closed(f, map[string]Seen{"shop-0": tc.node}, tc.config); again.Status.Identity != "u" {
			t.Errorf("%s: the identity is %q", name, again.Status.Identity)
		}
		if c.Status.SwitchSite != tc.have {
			t.Errorf("%s: the cache is changed", name)
		}
	}
}

// TestForgotten: where the status and what was published are lost, and no node runs that could tell, nodes refuse
// writes until the archiver has read that no other cluster has taken over. A new cluster accepts them at once.
func TestForgotten(t *testing.T) {
	running := corev1.ContainerStatus{Name: "mariadb", State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{}}}
	for name, tc := range map[string]struct {
		edit func(f *Facts, seen map[string]Seen, published *agentapi.NodeConfig)
		want bool
	}{
		"all is lost": {func(*Facts, map[string]Seen, *agentapi.NodeConfig) {}, true},
		"it was not started yet": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.StatefulSet = nil
		}, false},
		"its volumes are gone": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) { f.Claims = nil }, false},
		"the configuration is there": {func(_ *Facts, _ map[string]Seen, c *agentapi.NodeConfig) {
			c.Cluster, c.UID, c.Revision = "shop", "u", "r"
		}, false},
		"the status is there": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Cluster.Status.Identity = "u"
		}, false},
		"the status is of an earlier release": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Cluster.Status.ClusterUUID = "h"
		}, false},
		"it is being filled": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Cluster.Status.Restore = &v1alpha1.RestoreStatus{}
		}, false},
		"it is not archived": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Cluster.Spec.Backup = nil
		}, false},
		"it follows": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Cluster.Spec.ReplicaOf = &v1alpha1.ReplicaOf{}
		}, false},
		"a node accepts writes": {func(_ *Facts, seen map[string]Seen, _ *agentapi.NodeConfig) {
			seen["shop-0"] = Seen{Live: true, Report: agentapi.Report{Cluster: agentapi.Identity{Namespace: "prod",
				Cluster: "shop", UID: "u"}}}
		}, false},
		"a node runs that does not answer": {func(f *Facts, _ map[string]Seen, _ *agentapi.NodeConfig) {
			f.Pods["shop-0"].Status.ContainerStatuses = []corev1.ContainerStatus{running}
		}, false},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID = "prod", "shop", types.UID("u")
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		f, seen, published := Facts{Cluster: c, StatefulSet: &appsv1.StatefulSet{},
			Pods:   map[string]*corev1.Pod{"shop-0": {}},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}, map[string]Seen{}, agentapi.NodeConfig{}
		tc.edit(&f, seen, &published)
		have := Closed(f, seen, published)
		if (have != c) != tc.want || have.Refuses() != tc.want {
			t.Errorf("%s: %+v", name, have.Status.SwitchSite)
		}
	}
}

// TestNamed: a cluster that was to follow the one that has taken over, and loses its status before its nodes know that,
// still has data of its own: it does not follow with them.
func TestNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(c *v1alpha1.GaleraCluster, by *agentapi.NodeConfig)
		want bool
	}{
		"nodes refuse for the change alone": {func(*v1alpha1.GaleraCluster, *agentapi.NodeConfig) {}, true},
		"it has followed": {func(_ *v1alpha1.GaleraCluster, by *agentapi.NodeConfig) {
			by.Refusal, by.Follow = agentapi.Refusal{}, &agentapi.Follow{}
		}, false},
		"it has taken over again": {func(c *v1alpha1.GaleraCluster, _ *agentapi.NodeConfig) {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{}
		}, false},
		"it is filled": {func(c *v1alpha1.GaleraCluster, _ *agentapi.NodeConfig) {
			c.Status.Restore = &v1alpha1.RestoreStatus{}
		}, false},
		"it was filled with the data of the other one": {func(c *v1alpha1.GaleraCluster, by *agentapi.NodeConfig) {
			c.Status.Identity = v1alpha1.IdentityAfter(c, "4-bbbbbbbb")
			by.UID = c.Status.Identity
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}, false},
		"the status is of before the change, and it began with a backup": {func(c *v1alpha1.GaleraCluster,
			_ *agentapi.NodeConfig) {
			c.Status.ClusterUUID, c.Status.Restore = "h", &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
		}, true},
		"the status is of before the change": {func(c *v1alpha1.GaleraCluster, _ *agentapi.NodeConfig) {
			c.Status.ClusterUUID = "h"
		}, true},
		"it is an ordinary second site": {func(c *v1alpha1.GaleraCluster, _ *agentapi.NodeConfig) {
			c.Spec.ReplicaOf.Replaces = ""
		}, false},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID = "prod", "shop", types.UID("u")
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb",
			Cluster: v1alpha1.ReplicatedCluster{Name: "standby", UID: "bbbbbbbb-1"}}
		by := agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: "u", Revision: "r", Refuse: true,
			Refusal: agentapi.Refusal{Switching: 3}}
		tc.edit(c, &by)
		f := Facts{Cluster: c, Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		has := Superseded(f, nil, by).Status.Superseded
		if (has != nil) != tc.want || has != nil && (has.ID != "4-bbbbbbbb" || has.Namespace != "prod" ||
			has.UID != "bbbbbbbb-1") {
			t.Errorf("%s: %+v", name, has)
		}
	}
}

// TestLostSuperseded: nodes that refuse writes because another cluster has taken over go on so when the status is lost,
// until a person overrules that.
func TestLostSuperseded(t *testing.T) {
	by := agentapi.Refusal{SupersededBy: `{"id":"4-bbbbbbbb","namespace":"site","name":"standby","uid":"bbbbbbbb-1",` +
		`"gtid":"0-1-7"}`}
	config := func(uid string, refuse bool) agentapi.NodeConfig {
		return agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: uid, Revision: "r", Refuse: refuse, Refusal: by}
	}
	node := func(uid string, live bool) Seen {
		return Seen{Live: live, Report: agentapi.Report{Refusal: by,
			Cluster: agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: uid}}}
	}
	for name, tc := range map[string]struct {
		config    agentapi.NodeConfig
		node      Seen
		have      *v1alpha1.SupersededStatus
		overrules string
		empty     bool
		want      bool
	}{
		"the configuration has it":        {config: config("u", true), want: true},
		"another one was overruled":       {config: config("u", true), overrules: "3-cccccccc", want: true},
		"it was overruled":                {config: config("u", true), overrules: "4-bbbbbbbb"},
		"it is known":                     {config: config("u", true), have: &v1alpha1.SupersededStatus{ID: "5-bbbbbbbb"}},
		"nodes accept writes":             {config: config("u", false), node: node("u", true)},
		"it is that of one before":        {config: config("x", true)},
		"its volumes are gone":            {config: config("u", true), empty: true},
		"a node has it":                   {node: node("u", true), want: true},
		"a node that does not answer had": {node: node("u", false)},
		"a node of another cluster has":   {node: node("x", true)},
		"nothing has it":                  {},
		"a build before has published it": {config: agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: "u",
			Revision: "r", Refuse: true}},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID, c.Status.Identity = "prod", "shop", types.UID("u"), "u"
		c.Status.Superseded, c.Spec.OverrulesPromotion = tc.have, tc.overrules
		f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": {}},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		if tc.empty {
			f.Claims = nil
		}
		have := Superseded(f, map[string]Seen{"shop-0": tc.node}, tc.config)
		if (have != c) != tc.want || c.Status.Superseded != tc.have {
			t.Errorf("%s: %+v", name, have.Status.Superseded)
		}
		if s := have.Status.Superseded; tc.want && (!have.Refuses() || s.UID != "bbbbbbbb-1" || s.GTID != "0-1-7" ||
			s.Name != "standby") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
