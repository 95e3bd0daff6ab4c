package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestEncryptedAtRest: True by fresh evidence of every node alone; a file in clear on one node counts, whatever is not
// known of others.
func TestEncryptedAtRest(t *testing.T) {
	report := func(in *Input, node string, change func(*agentapi.AtRestReport)) {
		seen := in.Seen[node]
		a := *seen.Report.AtRest
		change(&a)
		seen.Report.AtRest = &a
		in.Seen[node] = seen
	}
	for name, c := range map[string]struct {
		change func(*Input)
		want   metav1.ConditionStatus
		reason string
		says   string
	}{
		"all nodes have read all": {func(*Input) {}, metav1.ConditionTrue, v1alpha1.ReasonProved, "90 files, 3000 pages"},
		"one agent does not answer": {func(in *Input) { delete(in.Seen, "n-1") }, metav1.ConditionUnknown,
			v1alpha1.ReasonNotYetProved, "evidence from n-1"},
		"one has not read all": {func(in *Input) {
			report(in, "n-2", func(a *agentapi.AtRestReport) { a.FullAt = time.Time{} })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "n-2 has not read all"},
		"the last check of all is too old": {func(in *Input) {
			report(in, "n-2", func(a *agentapi.AtRestReport) { a.FullSeen = in.Now.Add(-49 * time.Hour) })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "n-2 has not read all"},
		"the last sample is too old": {func(in *Input) {
			report(in, "n-0", func(a *agentapi.AtRestReport) { a.SampledAt = in.Now.Add(-6 * time.Minute) })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "no fresh evidence"},
		"a volume that cannot be read": {func(in *Input) {
			report(in, "n-0", func(a *agentapi.AtRestReport) { a.Error = "input/output error" })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "input/output error"},
		"a file that could not be judged": {func(in *Input) {
			report(in, "n-1", func(a *agentapi.AtRestReport) { a.UnknownFiles, a.Unknown = 1, []string{"app/t.MAI: damaged"} })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "n-1: 1 of 30 files could not be judged: app/t.MAI"},
		"a file in clear, and an agent that does not answer": {func(in *Input) {
			report(in, "n-2", func(a *agentapi.AtRestReport) { a.ClearFiles, a.Clear = 1, []string{"app/m.MYD: MyISAM"} })
			delete(in.Seen, "n-1")
		}, metav1.ConditionFalse, v1alpha1.ReasonFilesInClear, "n-2: 1 of 30 files are in clear: app/m.MYD"},
		"one does not encrypt yet": {func(in *Input) {
			report(in, "n-1", func(a *agentapi.AtRestReport) { a.Mode, a.ClearFiles = agentapi.ModeHolds, 9 })
		}, metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "n-1 does not encrypt yet"},
		"the nodes are prepared": {func(in *Input) { in.Facts.Cluster.Status.AtRest.State = v1alpha1.AtRestPreparing },
			metav1.ConditionUnknown, v1alpha1.ReasonNotYetProved, "do not encrypt yet"},
		"a cache in clear": {func(in *Input) {
			report(in, "n-1", func(a *agentapi.AtRestReport) { a.CacheClear = true })
		}, metav1.ConditionFalse, v1alpha1.ReasonGCacheInClear, "n-1"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{}
			in.Facts.Cluster.Status.AtRest = &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOn}
			for node, seen := range in.Seen {
				seen.Report.AtRest = &agentapi.AtRestReport{Files: 30, Pages: 1000, SampledAt: in.Now, FullAt: in.Now,
					FullSeen: in.Now, Mode: agentapi.ModeEncrypts}
				in.Seen[node] = seen
			}
			c.change(&in)
			if v := encryptedAtRest(in); v.status != c.want || v.reason != c.reason || !strings.Contains(v.message, c.says) {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// TestKeysAreRecordedOnce: the first keys that are read are those of the data, and no later ones replace them. Without
// encryption nothing is reported.
func TestKeysAreRecordedOnce(t *testing.T) {
	in := healthy()
	var s v1alpha1.GaleraClusterStatus
	Update(&s, in)
	if s.AtRest != nil || meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionEncryptedAtRest) != nil {
		t.Errorf("without encryption: %+v", s.AtRest)
	}
	in.Facts.Cluster.Spec.Encryption = &v1alpha1.EncryptionSpec{}
	in.Facts.Keys = &observe.Keys{Exists: true, Problem: "it is truncated"}
	if Update(&s, in); len(s.AtRest.Keys) != 0 {
		t.Errorf("of a truncated file: %+v", s.AtRest)
	}
	for _, fingerprint := range []string{"a", "b"} {
		in.Facts.Keys = &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": fingerprint}}
		if Update(&s, in); len(s.AtRest.Keys) != 1 || s.AtRest.Keys[0].Fingerprint != "a" ||
			!strings.HasSuffix(s.AtRest.SecretName, "-keys") {
			t.Errorf("%s: %+v", fingerprint, s.AtRest)
		}
	}
	in.Facts.Keys = nil
	if Update(&s, in); len(s.AtRest.Keys) != 1 {
		t.Errorf("when they cannot be read: %+v", s.AtRest)
	}
}
