package status

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// TestNextAtRest: keys are given to all nodes before one encrypts, and stay until nothing on any volume needs them.
// Where a node is not heard of, nothing is concluded.
func TestNextAtRest(t *testing.T) {
	withKeys := &appsv1.StatefulSet{}
	withKeys.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "keys", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "mine"}}}}
	all := func(change func(*agentapi.AtRestReport)) func(*Input) {
		return func(in *Input) {
			for node, seen := range in.Seen {
				seen.Report.AtRest = &agentapi.AtRestReport{Files: 30, SampledAt: in.Now, FullAt: in.Now, FullSeen: in.Now,
					Mode: agentapi.ModeHolds}
				if change != nil && node == "n-1" {
					change(seen.Report.AtRest)
				}
				in.Seen[node] = seen
			}
		}
	}
	silent := func(in *Input) { all(nil)(in); delete(in.Seen, "n-2") }
	none := func(*Input) {}
	for name, c := range map[string]struct {
		state   string
		asked   bool
		reports func(*Input)
		sts     *appsv1.StatefulSet
		born    bool
		want    string
		waits   string
	}{
		"new":                              {"", true, none, nil, false, v1alpha1.AtRestOn, ""},
		"running":                          {"", true, none, &appsv1.StatefulSet{}, true, v1alpha1.AtRestPreparing, ""},
		"running, its StatefulSet is gone": {"", true, none, nil, true, v1alpha1.AtRestPreparing, ""},
		"a lost status":                    {"", true, none, withKeys, true, v1alpha1.AtRestDecrypting, ""},
		"a lost status, none asked for":    {"", false, none, withKeys, true, v1alpha1.AtRestDecrypting, ""},
		"new, and its pods are being made": {"", true, none, &appsv1.StatefulSet{}, false, v1alpha1.AtRestPreparing, ""},
		"no nodes": {v1alpha1.AtRestPreparing, true, func(in *Input) { in.Snapshot.Members = nil }, nil, true,
			v1alpha1.AtRestPreparing, "no node runs"},
		"never":             {"", false, none, &appsv1.StatefulSet{}, true, "", ""},
		"again":             {v1alpha1.AtRestOff, true, none, &appsv1.StatefulSet{}, true, v1alpha1.AtRestPreparing, ""},
		"off":               {v1alpha1.AtRestOff, false, none, withKeys, true, v1alpha1.AtRestOff, ""},
		"all have the keys": {v1alpha1.AtRestPreparing, true, all(nil), nil, true, v1alpha1.AtRestOn, ""},
		"one has not": {v1alpha1.AtRestPreparing, true, all(func(a *agentapi.AtRestReport) { a.Mode = "" }), nil, true,
			v1alpha1.AtRestPreparing, "n-1 does not run with them yet"},
		"one has others": {v1alpha1.AtRestPreparing, true, all(func(a *agentapi.AtRestReport) { a.Problem = "other bytes" }),
			nil, true, v1alpha1.AtRestPreparing, "n-1: other bytes"},
		"one is not heard of": {v1alpha1.AtRestPreparing, true, silent, nil, true, v1alpha1.AtRestPreparing,
			"waiting for n-2"},
		"hibernated": {v1alpha1.AtRestPreparing, true, func(in *Input) { all(nil)(in); in.Snapshot.Hibernate = true }, nil,
			true, v1alpha1.AtRestPreparing, "no node runs"},
		"a pod is going": {v1alpha1.AtRestPreparing, true, func(in *Input) {
			all(nil)(in)
			in.Snapshot.Members[0].Pod.Terminating = true
		}, nil, true, v1alpha1.AtRestPreparing, "n-0 does not run"},
		"given up before any has them": {v1alpha1.AtRestPreparing, false, all(func(a *agentapi.AtRestReport) { a.Mode = "" }),
			nil, true, v1alpha1.AtRestOff, ""},
		"given up, and a table was encrypted by hand": {v1alpha1.AtRestPreparing, false,
			all(func(a *agentapi.AtRestReport) { a.EncryptedFiles, a.Encrypted = 1, []string{"app/t.ibd"} }), nil, true,
			v1alpha1.AtRestPreparing, "app/t.ibd"},
		"on":         {v1alpha1.AtRestOn, true, silent, nil, true, v1alpha1.AtRestOn, ""},
		"turned off": {v1alpha1.AtRestOn, false, none, nil, true, v1alpha1.AtRestDecrypting, ""},
		"one still encrypts": {v1alpha1.AtRestDecrypting, false, all(func(a *agentapi.AtRestReport) {
			a.Mode = agentapi.ModeEncrypts
		}), nil, true, v1alpha1.AtRestDecrypting, "n-1 does not write in clear"},
		"one runs without": {v1alpha1.AtRestDecrypting, false, all(func(a *agentapi.AtRestReport) { a.Mode = "" }), nil, true,
			v1alpha1.AtRestDecrypting, "n-1 does not write in clear"},
		"a file is encrypted": {v1alpha1.AtRestDecrypting, false, all(func(a *agentapi.AtRestReport) {
			a.EncryptedFiles, a.Encrypted = 2, []string{"binlog.000001", "app/t.ibd"}
		}), nil, true, v1alpha1.AtRestDecrypting, "n-1: 2 of 30 files are encrypted: binlog.000001; app/t.ibd"},
		"not all was read": {v1alpha1.AtRestDecrypting, false, all(func(a *agentapi.AtRestReport) { a.FullAt = time.Time{} }),
			nil, true, v1alpha1.AtRestDecrypting, "has not read all"},
		"a file could not be judged": {v1alpha1.AtRestDecrypting, false, all(func(a *agentapi.AtRestReport) {
			a.UnknownFiles, a.Unknown = 1, []string{"app/t.MAI: damaged"}
		}), nil, true, v1alpha1.AtRestDecrypting, "n-1: 1 of 30 files could not be judged"},
		"given up, and a file could not be judged": {v1alpha1.AtRestPreparing, false, all(func(a *agentapi.AtRestReport) {
			a.UnknownFiles, a.Unknown = 1, []string{"app/t.MAI: damaged"}
		}), nil, true, v1alpha1.AtRestPreparing, "n-1: 1 of 30 files could not be judged"},
		"one may be started as one that encrypts": {v1alpha1.AtRestDecrypting, false, func(in *Input) {
			all(nil)(in)
			in.Snapshot.Members[1].ConfigLoaded = "r0"
		}, nil, true, v1alpha1.AtRestDecrypting, "n-1 does not have the published settings"},
		"one is silent": {v1alpha1.AtRestDecrypting, false, silent, nil, true, v1alpha1.AtRestDecrypting,
			"waiting for n-2"},
		"nothing is encrypted":  {v1alpha1.AtRestDecrypting, false, all(nil), nil, true, v1alpha1.AtRestOff, ""},
		"asked for again":       {v1alpha1.AtRestDecrypting, true, all(nil), nil, true, v1alpha1.AtRestOn, ""},
		"again, one is unheard": {v1alpha1.AtRestDecrypting, true, silent, nil, true, v1alpha1.AtRestDecrypting, "n-2"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			cl := in.Facts.Cluster
			if cl.Spec.Encryption = nil; c.asked {
				cl.Spec.Encryption = &v1alpha1.EncryptionSpec{}
			}
			if cl.Status.ClusterUUID = ""; c.born {
				cl.Status.ClusterUUID = "5b3f"
			}
			in.Facts.StatefulSet = c.sts
			in.Facts.Keys = &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "a"}}
			var before *v1alpha1.AtRestStatus
			if c.state != "" {
				before = &v1alpha1.AtRestStatus{State: c.state, SecretName: "mine", Algorithm: "AES_CBC",
					Keys: []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: "old"}}}
			}
			cl.Status.AtRest = before
			c.reports(&in)
			out := atRestStatus(in, before)
			if out == nil {
				if c.want != "" {
					t.Fatal("nothing is recorded")
				}
				return
			}
			if out.State != c.want || !strings.Contains(out.Message, c.waits) || c.waits == "" && out.Message != "" {
				t.Errorf("%q %q, want %q %q", out.State, out.Message, c.want, c.waits)
			}
			if c.sts == withKeys && c.state == "" && !c.asked && out.SecretName != "mine" {
				t.Errorf("the Secret that the pods have is not recorded: %s", out.SecretName)
			}
			if c.state != "" && c.state != v1alpha1.AtRestOff && (out.Keys[0].Fingerprint != "old" ||
				out.Algorithm != "AES_CBC") {
				t.Errorf("what the data are encrypted with was recorded anew: %+v", out)
			}
		})
	}
}

// TestAlgorithmIsRecorded: what the data are encrypted with is what the spec asks for, or the default; after a lost
// status it is what was published.
func TestAlgorithmIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		asked, published, want string
	}{
		"the default":            {"", "", "AES_CTR"},
		"asked for":              {"AES_CBC", "", "AES_CBC"},
		"published before":       {"", "AES_CBC", "AES_CBC"},
		"published, and another": {"AES_CTR", "AES_CBC", "AES_CBC"},
	} {
		in := healthy()
		in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{Algorithm: c.asked}}
		in.Facts.Keys = &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "a"}}
		if c.published != "" {
			in.Config.AtRest = &agentapi.AtRest{Algorithm: c.published}
		}
		if got := nextAtRest(in, v1alpha1.AtRestStatus{}); got.Algorithm != c.want {
			t.Errorf("%s: %q, want %q", name, got.Algorithm, c.want)
		}
	}
}

// TestRefusedSecretIsNotRecorded: after a mistyped Secret, the one with the keys is found again without the spec.
func TestRefusedSecretIsNotRecorded(t *testing.T) {
	for _, refused := range []*validate.Problem{nil, {Reason: v1alpha1.ReasonKeysMissing, Blocked: true}} {
		in := healthy()
		in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{
			KeysSecretRef: &v1alpha1.KeysSecretReference{Name: "other"}}}
		in.KeysRefused = refused
		got := nextAtRest(in, v1alpha1.AtRestStatus{State: v1alpha1.AtRestOn, SecretName: "mine"}).SecretName
		if want := map[bool]string{true: "other", false: "mine"}[refused == nil]; got != want {
			t.Errorf("%+v: %s, want %s", refused, got, want)
		}
	}
}

// TestOffHasNoCondition: a cluster that asks for no encryption has no condition of it; what still waits is in
// status.atRest.
func TestOffHasNoCondition(t *testing.T) {
	in := healthy()
	in.Facts.Cluster.Spec.Encryption = nil
	s := v1alpha1.GaleraClusterStatus{AtRest: &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOn}}
	in.Facts.Cluster.Status = *s.DeepCopy()
	Update(&s, in)
	if s.AtRest == nil || s.AtRest.State != v1alpha1.AtRestDecrypting ||
		meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionEncryptedAtRest) != nil {
		t.Errorf("%+v", s.AtRest)
	}
}
