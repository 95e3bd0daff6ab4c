package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestSwitchSiteLines: a cluster that does not follow the other one, or takes over already, is refused before anything
// is changed. A token counts for the cluster that it was asked for.
func TestSwitchSiteLines(t *testing.T) {
	pair := func(change func(a, b *v1alpha1.GaleraCluster)) (a, b *v1alpha1.GaleraCluster) {
		a = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
		a.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		b = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1"}}
		b.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFollowing, Status: "True"}}
		change(a, b)
		return a, b
	}
	to := v1alpha1.SiteCluster{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1"}
	cut := func(from string) *v1alpha1.CutoverSpec {
		return &v1alpha1.CutoverSpec{GTID: "0-1-7", Token: &v1alpha1.SwitchToken{From: from}}
	}
	for name, tc := range map[string]struct {
		change func(a, b *v1alpha1.GaleraCluster)
		says   string
	}{
		"it follows": {func(_, _ *v1alpha1.GaleraCluster) {}, ""},
		"it follows nothing": {func(_, b *v1alpha1.GaleraCluster) { b.Spec.ReplicaOf = nil },
			"does not follow prod/shop"},
		"it follows another one": {func(_, b *v1alpha1.GaleraCluster) { b.Spec.ReplicaOf.Cluster.UID = "cccccccc-1" },
			"does not follow prod/shop"},
		"it is cut over": {func(_, b *v1alpha1.GaleraCluster) { b.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"} },
			"takes over already"},
		"with a token of another one": {func(_, b *v1alpha1.GaleraCluster) { b.Spec.Cutover = cut("cccccccc-1") },
			"takes over already"},
		"it goes on": {func(a, b *v1alpha1.GaleraCluster) {
			b.Spec.Cutover, b.Status.Conditions = cut("aaaaaaaa-1"), nil
			a.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{To: to}
			a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchOffered, Token: b.Spec.Cutover.Token}
		}, ""},
		"with a token that was taken back": {func(a, b *v1alpha1.GaleraCluster) {
			b.Spec.Cutover = cut("aaaaaaaa-1")
			a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchTakenBack}
		}, "is void"},
		"with a token that is being taken back": {func(a, b *v1alpha1.GaleraCluster) {
			b.Spec.Cutover = cut("aaaaaaaa-1")
			a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchWithdrawing, Token: b.Spec.Cutover.Token}
		}, "is void"},
		"with the token before": {func(a, b *v1alpha1.GaleraCluster) {
			b.Spec.Cutover = cut("aaaaaaaa-1")
			a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchOffered,
				Token: &v1alpha1.SwitchToken{Number: 2, From: "aaaaaaaa-1"}}
		}, "is void"},
		"the channel has stopped": {func(_, b *v1alpha1.GaleraCluster) { b.Status.Conditions[0].Status = "False" },
			"is not Following"},
		"nothing is known": {func(_, b *v1alpha1.GaleraCluster) { b.Status.Conditions = nil }, "not Following yet"},
		"there is no archive": {func(a, _ *v1alpha1.GaleraCluster) { a.Spec.Backup = nil },
			"enable spec.backup.pointInTime"},
		"another one is asked to": {func(a, _ *v1alpha1.GaleraCluster) { a.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{} },
			"names another"},
	} {
		if have := notSwitchable(pair(tc.change)); (have == "") != (tc.says == "") || !strings.Contains(have, tc.says) {
			t.Errorf("%s: %q", name, have)
		}
	}
	a, _ := pair(func(a, _ *v1alpha1.GaleraCluster) { a.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{To: to} })
	token := &v1alpha1.SwitchToken{Number: 4, GTID: "0-1-7"}
	in := func(phase, message string) *v1alpha1.SwitchSiteStatus {
		return &v1alpha1.SwitchSiteStatus{To: to, Phase: phase, Token: token, Message: message}
	}
	for name, tc := range map[string]struct {
		s     *v1alpha1.SwitchSiteStatus
		token bool
		says  string
	}{
		"nothing yet": {nil, false, "waiting for the operator"},
		"for another one": {&v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchOffered, Token: token}, false,
			"the operator"},
		"nodes are waited for": {in(v1alpha1.SwitchStopping, "shop-1"), false, "shop-1"},
		"it is there":          {in(v1alpha1.SwitchOffered, ""), true, ""},
		"it is taken back":     {in(v1alpha1.SwitchWithdrawing, "void"), false, "void"},
		"one has taken over":   {in(v1alpha1.SwitchTaken, ""), false, "has taken over"},
		"it took too long":     {in(v1alpha1.SwitchExpired, "shop-1"), false, "in time: shop-1"},
	} {
		a.Status.SwitchSite = tc.s
		line, have, err := tokenLine(a, to)
		if err != nil {
			line = err.Error()
		}
		if (have != nil) != tc.token || !strings.Contains(line, tc.says) {
			t.Errorf("%s: %q, %+v", name, line, have)
		}
	}
	for name, change := range map[string]func(){ // nothing is left to be taken back then
		"it was removed":      func() { a.Spec.SwitchSite = nil },
		"one has taken over":  func() { a.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"} },
		"that was overruled":  func() { a.Status.SwitchSite = in(v1alpha1.SwitchTaken, "") },
		"both, by two people": func() { a.Spec.SwitchSite, a.Status.SwitchSite = nil, nil },
	} {
		a.Spec.SwitchSite, a.Status.Superseded = &v1alpha1.SwitchSiteSpec{To: to}, nil
		a.Status.SwitchSite = in(v1alpha1.SwitchStopping, "")
		change()
		var over ended
		if _, _, err := tokenLine(a, to); !errors.As(err, &over) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tc := range map[string]struct {
		phase  string
		reason string // why it is not available
		super  bool
		done   bool
		fails  bool
	}{
		"it goes on":                {phase: v1alpha1.SwitchWithdrawing, reason: "x"},
		"it is taken back":          {phase: v1alpha1.SwitchTakenBack, reason: v1alpha1.ReasonAvailable, done: true},
		"nodes refuse writes still": {phase: v1alpha1.SwitchTakenBack, reason: v1alpha1.ReasonSwitchingSite},
		"it has no quorum":          {phase: v1alpha1.SwitchTakenBack, reason: v1alpha1.ReasonPrimaryNotServing, done: true},
		"the status is lost":        {},
		"nothing was begun":         {reason: v1alpha1.ReasonAvailable, done: true},
		"one has taken over":        {phase: v1alpha1.SwitchTaken, super: true, fails: true},
	} {
		a.Spec.SwitchSite, a.Status = nil, v1alpha1.GaleraClusterStatus{}
		if tc.phase != "" {
			a.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: tc.phase}
		}
		if tc.reason != "" {
			a.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Reason: tc.reason,
				Status: metav1.ConditionFalse}}
		}
		if tc.reason == v1alpha1.ReasonAvailable {
			a.Status.Conditions[0].Status = metav1.ConditionTrue
		}
		if tc.super {
			a.Status.Superseded = &v1alpha1.SupersededStatus{ID: "4-bbbbbbbb"}
		}
		if _, done, err := backLine(a); done != tc.done || (err != nil) != tc.fails {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
}

// siteWorld is two clusters in one Kubernetes, maybe of an earlier release, which drops fields that it does not know.
func siteWorld(t *testing.T, drops ...string) (sites, *[]string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	a := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1"}}
	b := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1"}}
	b.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Cluster: v1alpha1.ReplicatedCluster{Namespace: "prod", Name: "shop"}}
	changed := &[]string{}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(a, b).WithStatusSubresource(a).WithInterceptorFuncs(
		interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			text, err := p.Data(o)
			if err != nil {
				return err
			}
			var of client.PatchOptions
			if of.ApplyOptions(opts); len(of.DryRun) == 0 {
				*changed = append(*changed, o.GetName()+string(text))
			}
			if len(of.DryRun) == 0 && slices.Contains(drops, "answer") && strings.Contains(string(text), `"uid"`) {
				return errors.New("timeout")
			}
			for _, field := range drops {
				text = []byte(strings.ReplaceAll(string(text), `"`+field+`":`, `"dropped":`))
			}
			return json.Unmarshal(text, o)
		}}).Build()
	of := func(namespace string) *env {
		return &env{kube: k, namespace: namespace, out: io.Discard, err: io.Discard}
	}
	return sites{of("prod"), of("site")}, changed
}

// TestSwitchSiteOfAnEarlierRelease: where one of the operators would not know what is asked for, nothing is changed:
// the other cluster would take over without a token.
func TestSwitchSiteOfAnEarlierRelease(t *testing.T) {
	for drops, says := range map[string]string{"": "", "switchSite": "the operator of shop", "token": "of standby"} {
		e, changed := siteWorld(t, drops)
		a, b, err := e.both(t.Context(), "shop", "standby")
		if err != nil {
			t.Fatal(err)
		}
		err = e.stop(t.Context(), a, b)
		switch {
		case says == "":
			if err != nil || len(*changed) != 1 || !strings.Contains((*changed)[0], `"uid":"aaaaaaaa-1"`) {
				t.Errorf("%v, %q", err, *changed)
			}
		case err == nil || !strings.Contains(err.Error(), says) || len(*changed) > 0:
			t.Errorf("without %s: %v, %q", drops, err, *changed)
		}
	}
}

// TestTaking: the token is of the cluster by its UID, and the cutover of what it is since it has begun anew.
func TestTaking(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{UID: "bbbbbbbb-1"}}
	c.Status.Identity = "ffffffff-5"
	for _, want := range []string{"bbbbbbbb-1", "ffffffff-5"} {
		patch, err := json.Marshal(taking(c, v1alpha1.SwitchToken{GTID: "0-1-7", From: "aaaaaaaa-1", To: "bbbbbbbb-1"}))
		if err != nil || json.Unmarshal(patch, c) != nil || c.Spec.Cutover.UID != want || !c.OwnCutover() ||
			c.Spec.Cutover.Token.To != "bbbbbbbb-1" {
			t.Errorf("%s, %v: %+v", want, err, c.Spec.Cutover)
		}
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-aaaaaaaa"}
	}
}

// TestSwitchSiteWithoutAnAnswer: where it is not known whether the first cluster was asked to refuse writes, that is
// taken back.
func TestSwitchSiteWithoutAnAnswer(t *testing.T) {
	e, changed := siteWorld(t, "answer")
	a, b, err := e.both(t.Context(), "shop", "standby")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.stop(t.Context(), a, b); err == nil || len(*changed) != 2 || !strings.Contains((*changed)[1],
		`{"switchSite":null}`) {
		t.Errorf("%v, %q", err, *changed)
	}
}

// TestSwitchSiteIsTakenBack: where no token comes, the first cluster is to accept writes again; not where someone has
// taken that back already, or another cluster has taken over.
func TestSwitchSiteIsTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraCluster)
		back   bool
	}{
		"there is no token": {func(c *v1alpha1.GaleraCluster) { c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{} }, true},
		"someone was first": {func(*v1alpha1.GaleraCluster) {}, false},
	} {
		e, changed := siteWorld(t)
		a, b, err := e.both(t.Context(), "shop", "standby")
		if err != nil {
			t.Fatal(err)
		}
		tc.change(a)
		if err := e.kube.Update(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		err = e.give(t.Context(), a, b, siteFlags{to: "standby", timeout: 10 * time.Millisecond})
		if err == nil || (len(*changed) > 0) != tc.back || strings.Contains(err.Error(), "accepts writes again") != tc.back {
			t.Errorf("%s: %v, %q", name, err, *changed)
		}
	}
}

// TestCutoverWithAVoidToken: a command that waits for a cluster ends once its token was taken back.
func TestCutoverWithAVoidToken(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "standby"}}
	c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-7"}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower,
		Promotion: &v1alpha1.PromotionRecord{ID: "4-aaaaaaaa", GTID: "0-1-7", Withdrawn: true}}
	if _, done, err := cutoverLine(c); done || err == nil || !strings.Contains(err.Error(), "was taken back") {
		t.Errorf("%v, %v", done, err)
	}
}
