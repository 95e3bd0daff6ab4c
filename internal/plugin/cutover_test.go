package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestCutoverLines: a cutover begins when the cluster follows and is close, and ends when all nodes accept writes.
func TestCutoverLines(t *testing.T) {
	cluster := func(status metav1.ConditionStatus, reason string, r *v1alpha1.ReplicationStatus) *v1alpha1.GaleraCluster {
		c := &v1alpha1.GaleraCluster{}
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Port: 3306,
			Follow: true}}
		c.Status.Replication = r
		if status != "" {
			c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFollowing, Status: status, Reason: reason,
				Message: "the message"}}
		}
		return c
	}
	behind := func(seconds int64) *v1alpha1.ReplicationStatus {
		return &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Node: "shop-0", Source: "db:3306",
			SecondsBehind: &seconds}
	}
	paused := cluster("True", v1alpha1.ReasonFollowing, behind(0))
	paused.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	refused := cluster("True", v1alpha1.ReasonFollowing, behind(0))
	refused.Status.Conditions = append(refused.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled,
		Status: "True", Reason: v1alpha1.ReasonForbiddenSetting, Message: "Remove it"})
	elsewhere := cluster("True", v1alpha1.ReasonFollowing, behind(0))
	elsewhere.Spec.BootstrapFrom.External.Alternatives = []v1alpha1.ExternalHost{{Host: "db2", Port: 3307}}
	elsewhere.Status.Replication.Source = "db2:3307"
	ended := &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
	for name, tc := range map[string]struct {
		line func(*v1alpha1.GaleraCluster) (string, bool, error)
		of   *v1alpha1.GaleraCluster
		done bool
		says string
	}{
		"nothing is known": {lagLine, cluster("", "", nil), false, "does not follow yet"},
		"the channel has failed": {lagLine, cluster("False", v1alpha1.ReasonChannelStopped, behind(0)), false,
			"the message"},
		"paused":                       {lagLine, paused, false, "would not reach the nodes"},
		"the configuration is refused": {lagLine, refused, false, "ForbiddenSetting"},
		"far behind": {lagLine, cluster("True", v1alpha1.ReasonFollowing, behind(2)), false,
			"2 seconds behind db:3306"},
		"close": {lagLine, cluster("True", v1alpha1.ReasonFollowing, behind(1)), true,
			"shop-0 follows db:3306"},
		"the lag is not known": {lagLine, cluster("True", v1alpha1.ReasonFollowing,
			&v1alpha1.ReplicationStatus{Node: "shop-0"}), false, "not known yet"},
		"it follows another source": {lagLine, elsewhere, true, "shop-0 follows db2:3307"},
		"it still follows the source": {lagLineOf(v1alpha1.ExternalHost{Host: "db2", Port: 3307}), elsewhere, true,
			"shop-0 follows db2:3307"},
		"nodes apply the rest of another source": {cutoverLine, elsewhere, false, "everything from db2:3307"},
		"nodes apply the rest": {cutoverLine, cluster("True", v1alpha1.ReasonFollowing, behind(0)), false,
			"everything from db:3306"},
		"some nodes are open": {cutoverLine, cluster("False", v1alpha1.ReasonCuttingOver, behind(0)), false,
			"the message"},
		"all nodes accept writes": {cutoverLine, cluster("", "", ended), true, ""},
	} {
		line, done, err := tc.line(tc.of)
		if err != nil || done != tc.done || !strings.Contains(line, tc.says) {
			t.Errorf("%s: %q %v %v", name, line, done, err)
		}
	}
	db, db2 := v1alpha1.ExternalHost{Host: "db", Port: 3306}, v1alpha1.ExternalHost{Host: "db2", Port: 3307}
	late := elsewhere.DeepCopy()
	late.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"}
	held := elsewhere.DeepCopy()
	held.Status.Replication.Held = "now@T"
	for name, tc := range map[string]struct {
		line func(*v1alpha1.GaleraCluster) (string, bool, error)
		of   *v1alpha1.GaleraCluster
		done bool
		says string
	}{
		"the source has changed meanwhile":           {lagLineOf(db), elsewhere, false, "now follows db2:3307 instead of db:3306"},
		"the source has changed in a comparison":     {heldLine(db, "now@T"), held, false, "now follows db2:3307"},
		"it was cut over during a comparison":        {heldLine(db2, "now@T"), late, false, "set meanwhile"},
		"the nodes are compared":                     {heldLine(db2, "now@T"), held, true, ""},
		"the nodes do not stop for a comparison yet": {heldLine(db2, "0-1-7@T"), held, false, ""},
	} {
		if _, done, err := tc.line(tc.of); done != tc.done || (err == nil) != (tc.says == "") ||
			err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v %v", name, done, err)
		}
	}
}

// TestHeldLine: the time at which nodes go on by themselves is not shown as a part of where they stop.
func TestHeldLine(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	for at, want := range map[string]string{"now@T": "waiting until the nodes stop where they are",
		"0-1-7@T": "waiting until the nodes stop at 0-1-7"} {
		if line, _, err := heldLine(c.Followed(), at)(c); err != nil || line != want {
			t.Errorf("%s: %q, %v", at, line, err)
		}
	}
}

// TestCutoverRefuses: a cluster that follows, and has no spec.cutover yet, is cut over; one that has another cluster's,
// or flags that do not fit what it follows, is not.
func TestCutoverRefuses(t *testing.T) {
	server := &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Follow: true}}
	archive := &v1alpha1.ReplicaOf{}
	spec := func(b *v1alpha1.BootstrapFrom, r *v1alpha1.ReplicaOf, c *v1alpha1.CutoverSpec) v1alpha1.GaleraClusterSpec {
		return v1alpha1.GaleraClusterSpec{BootstrapFrom: b, ReplicaOf: r, Cutover: c}
	}
	for name, c := range map[string]struct {
		spec        v1alpha1.GaleraClusterSpec
		flags       cutoverFlags
		compareOnly bool
		want        string // "" for nothing
	}{
		"a server":                   {spec(server, nil, nil), cutoverFlags{back: true}, false, ""},
		"a server, compared":         {spec(server, nil, nil), cutoverFlags{}, true, ""},
		"an archive":                 {spec(nil, archive, nil), cutoverFlags{loss: true}, false, ""},
		"nothing":                    {spec(nil, nil, nil), cutoverFlags{}, false, "follows nothing"},
		"a server, accepting loss":   {spec(server, nil, nil), cutoverFlags{loss: true}, false, "--accept-loss"},
		"a server, without a record": {spec(server, nil, nil), cutoverFlags{unrecorded: true}, false, "--without-record"},
		"an archive, back":           {spec(nil, archive, nil), cutoverFlags{back: true}, false, "--back"},
		"an archive, compared":       {spec(nil, archive, nil), cutoverFlags{}, true, "no tables"},
		"a server, being cut over":   {spec(server, nil, &v1alpha1.CutoverSpec{UID: "u"}), cutoverFlags{}, false, ""},
		"a server, of another one":   {spec(server, nil, &v1alpha1.CutoverSpec{UID: "w"}), cutoverFlags{}, false, "another"},
		"a server, of no one":        {spec(server, nil, &v1alpha1.CutoverSpec{}), cutoverFlags{back: true}, false, "no uid"},
		"an archive, being cut over": {spec(nil, archive, &v1alpha1.CutoverSpec{UID: "u"}), cutoverFlags{}, false, ""},
		"an archive, of another one": {spec(nil, archive, &v1alpha1.CutoverSpec{UID: "w"}), cutoverFlags{}, false, "another"},
	} {
		of := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u"}, Spec: c.spec}
		err := c.flags.refuses(of, c.compareOnly)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPublish: a source is made writable again only where the API server has refused spec.cutover, and has none: not
// where an answer is lost, or someone else has set one.
func TestPublish(t *testing.T) {
	of := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "galeraclusters"}
	invalid := apierrors.NewInvalid(schema.GroupKind{}, "shop", nil)
	for name, tc := range map[string]struct {
		answer error
		set    bool // by someone else
		again  bool // with the same name
		unread bool
		unset  bool
	}{
		"it is set":                            {},
		"it is invalid":                        {answer: invalid, unset: true},
		"it is forbidden":                      {answer: apierrors.NewForbidden(of, "shop", errors.New("no")), unset: true},
		"the login has expired":                {answer: apierrors.NewUnauthorized("no"), unset: true},
		"the request is bad":                   {answer: apierrors.NewBadRequest("no"), unset: true},
		"the answer is lost":                   {answer: errors.New("EOF")},
		"the API server is late":               {answer: apierrors.NewTimeoutError("late", 1)},
		"the API server fails":                 {answer: apierrors.NewInternalError(errors.New("no"))},
		"someone else was first":               {answer: invalid, set: true},
		"it is refused, and cannot be read":    {answer: invalid, unread: true},
		"it is refused, and is made once more": {answer: invalid, again: true},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "u"}}
		if tc.set {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: "u"}
		}
		kube := fakeKube(t, c).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, k client.WithWatch, o client.Object, p client.Patch,
				opts ...client.PatchOption) error {
				if tc.answer != nil {
					return tc.answer
				}
				return k.Patch(ctx, o, p, opts...)
			},
			Get: func(ctx context.Context, k client.WithWatch, key client.ObjectKey, o client.Object,
				opts ...client.GetOption) error {
				if tc.unread {
					return errors.New("EOF")
				}
				return k.Get(ctx, key, o, opts...)
			}}).Build()
		read := c.DeepCopy()
		if read.Spec.Cutover = nil; tc.again {
			read.UID = "before"
		}
		e := cutovers{&env{kube: kube, namespace: "demo", out: io.Discard, err: io.Discard}}
		unset, err := e.publish(t.Context(), read, map[string]any{"gtid": "0-1-9", "uid": "u"})
		if unset != tc.unset || !errors.Is(err, tc.answer) {
			t.Errorf("%s: %v, %v", name, unset, err)
		}
	}
}

// TestReopened: after an error the source accepts writes again only where spec.cutover is known not to be set, and only
// if this cutover has made it read-only.
func TestReopened(t *testing.T) {
	failed := errors.New("no answer")
	for name, tc := range map[string]struct {
		err         error
		made, unset bool
		undo        error
		asks        bool
		says        string
	}{
		"it is set":                        {made: true},
		"a person has made it read-only":   {err: failed, unset: true, says: "no answer"},
		"it may be set":                    {err: failed, made: true, says: "stays read-only"},
		"it is not set":                    {err: failed, made: true, unset: true, asks: true, says: "accepts writes again"},
		"the source does not answer again": {failed, true, true, errors.New("gone"), true, "still read-only: gone"},
	} {
		asked := false
		err := reopened(tc.err, tc.made, tc.unset, func() error { asked = true; return tc.undo })
		if asked != tc.asks || !errors.Is(err, tc.err) || tc.says != "" && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: asked %v, %v", name, asked, err)
		}
	}
}
