package status

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestTooManyCAs: who has to do what until there is space for the CAs of the issued pair.
func TestTooManyCAs(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Namespace, c.Name = "prod", "shop"
	for name, tc := range map[string]struct {
		choice           plan.Publication
		message, command string
		blocked          bool
	}{
		"there is space": {plan.Publication{Step: plan.StepDistributingTrust}, "", "", false},
		"manual": {plan.Publication{TooMany: 17, Step: plan.StepAwaitingApproval, Old: []string{"a1", "b2"}},
			"they would trust 17, and they take no more than 16; drop old CAs first: name them in the annotation " +
				v1alpha1.AnnotationDropCA,
			"kubectl annotate --overwrite -n prod galeracluster shop " + v1alpha1.AnnotationDropCA + "=a1,b2", true},
		"a node is waited for": {plan.Publication{TooMany: 18, Step: plan.StepRotatingCertificates, Old: []string{"a1"},
			Waiting: []string{"shop-2"}}, "old CAs are dropped first, which waits for every node to present the published " +
			"certificate (shop-2)", "", false},
		"none can be dropped": {plan.Publication{TooMany: 17, Step: plan.StepSettled},
			"no CA can be dropped: let the issuer give only the CAs that its certificate needs", "", true},
	} {
		p := TooManyCAs(c, tc.choice)
		if p == nil {
			if tc.message != "" {
				t.Errorf("%s: no problem", name)
			}
			continue
		}
		if tc.message == "" || !strings.Contains(p.Message, tc.message) || p.Command != tc.command ||
			p.Blocked != tc.blocked || p.Reason != v1alpha1.ReasonCertificateRefused {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestTrustedCAsAreBounded: an API server refuses a status with more of them than it may have, and all else with it.
func TestTrustedCAsAreBounded(t *testing.T) {
	in := healthy()
	var cas []*x509.Certificate
	for range pki.MaxCAs {
		cas = append(cas, pki.Parse(pkitest.NewCA("ours").PEM)...)
	}
	in.Published.CAs = cas
	for name, seen := range in.Seen {
		seen.Report.TLS.Loaded = "x"
		for i := range pki.MaxCAs {
			seen.Report.TLS.TrustedCAs = append(seen.Report.TLS.TrustedCAs, fmt.Sprint(name, i))
		}
		in.Seen[name] = seen
	}
	out := trustedCAs(in)
	if len(out) != maxTrusted {
		t.Errorf("%d CAs", len(out))
	}
	for i, ca := range cas {
		if out[i].Fingerprint != pki.Fingerprint(ca) {
			t.Fatalf("published CA %d is left out", i)
		}
	}
}

// TestCertificatesOfSilentNodes: what a node presents and trusts that does not answer is not known, and what it may
// still trust is not forgotten.
func TestCertificatesOfSilentNodes(t *testing.T) {
	now, old := pkitest.NewCA("now"), pkitest.NewCA("old")
	dropped := describeCA(pki.Parse(old.PEM)[0], v1alpha1.CADropped)
	current := describeCA(pki.Parse(now.PEM)[0], v1alpha1.CACurrent)
	silent := func(in *Input) {
		in.Seen["n-2"] = observe.Seen{Report: in.Seen["n-2"].Report, Err: errors.New("no answer")}
		in.Snapshot.Members[2] = galera.Member{Name: "n-2", Ordinal: 2, Pod: in.Snapshot.Members[2].Pod}
	}
	trusts := func(in *Input, node int) {
		seen := in.Seen[fmt.Sprint("n-", node)]
		seen.Report.TLS.TrustedCAs = append(seen.Report.TLS.TrustedCAs, dropped.Fingerprint)
		in.Seen[fmt.Sprint("n-", node)] = seen
		in.Snapshot.Members[node].StaleTrust = true
	}
	for name, tc := range map[string]struct {
		change  func(*Input)
		want    string
		trusted string // the CAs in the status
		step    string
	}{
		"all answer": {func(*Input) {}, "True Healthy", "Current", "Settled"},
		"all answer, and one trusts it": {func(in *Input) { trusts(in, 1) }, "False OldCATrusted", "Current Dropped",
			"RemovingOldCA"},
		"one does not answer": {silent, "Unknown NotYetProved", "Current Dropped", "RemovingOldCA"},
		"one does not answer, another one trusts it": {func(in *Input) { silent(in); trusts(in, 1) }, "False OldCATrusted",
			"Current Dropped", "RemovingOldCA"},
		"one does not answer, nothing was dropped": {func(in *Input) {
			silent(in)
			in.Facts.Cluster.Status.TLS.TrustedCAs = []v1alpha1.TrustedCA{current}
		}, "Unknown NotYetProved", "Current", "Settled"},
		"one does not answer, and what was dropped is over": {func(in *Input) {
			silent(in)
			in.Facts.Cluster.Status.TLS.TrustedCAs[1].NotAfter = timeOf(&noon)
			in.Now = noon.Add(time.Second)
		}, "Unknown NotYetProved", "Current Dropped", "Settled"},
		"one has no pod": {func(in *Input) { silent(in); in.Snapshot.Members[2].Pod = galera.Pod{} }, "True Healthy",
			"Current", "Settled"},
		"one runs no server": {func(in *Input) {
			seen := in.Seen["n-2"]
			seen.Report.Server, seen.Report.TLS = nil, agentapi.TLSReport{}
			in.Seen["n-2"] = seen
		}, "True Healthy", "Current", "Settled"},
		"one does not answer, another presents an old one": {func(in *Input) {
			silent(in)
			seen := in.Seen["n-1"]
			seen.Report.TLS.LoadedSerial = "00"
			in.Seen["n-1"] = seen
		}, "False CertificateNotLoaded", "Current Dropped", "RemovingOldCA"},
		"the arbitrator does not answer": {func(in *Input) {
			in.Snapshot.Arbitrator = &galera.Arbitrator{Name: "n-arbitrator", Pod: galera.Pod{Exists: true}}
		}, "Unknown NotYetProved", "Current", "Settled"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			in.Published.CAs, in.Published.Choice.Step = pki.Parse(now.PEM), plan.StepSettled
			in.Facts.Cluster.Status.TLS = &v1alpha1.ClusterTLSStatus{TrustedCAs: []v1alpha1.TrustedCA{current, dropped}}
			for name, seen := range in.Seen {
				seen.Report.TLS.Loaded, seen.Report.TLS.TrustedCAs = "x", []string{current.Fingerprint}
				in.Seen[name] = seen
			}
			tc.change(&in)
			v := certificatesValid(in)
			if got := string(v.status) + " " + v.reason; got != tc.want {
				t.Errorf("%s (%s), want %s", got, v.message, tc.want)
			}
			var states []string
			for _, ca := range trustedCAs(in) {
				states = append(states, ca.State)
				if ca.Subject == "" {
					t.Errorf("%s is not known any more", ca.Fingerprint)
				}
			}
			if got := strings.Join(states, " "); got != tc.trusted || trustStep(in) != tc.step {
				t.Errorf("trusted: %s (%s), want %s (%s)", got, trustStep(in), tc.trusted, tc.step)
			}
		})
	}
}
