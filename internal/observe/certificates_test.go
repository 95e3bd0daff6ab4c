package observe

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestTooManyCAsAreValid: a published pair with more CAs than agents take is no reason to present another leaf at once,
// which no node may trust.
func TestTooManyCAsAreValid(t *testing.T) {
	ca, now := pkitest.NewCA("ours"), time.Now()
	crt, key := ca.Issue(pkitest.Leaf{})
	cas := ca.PEM
	for range pki.MaxCAs {
		cas = slices.Concat(cas, pkitest.NewCA("older").PEM)
	}
	for name, tc := range map[string]struct {
		cas   []byte
		now   time.Time
		valid bool
		chain []string
	}{
		"few":           {ca.PEM, now, true, nil},
		"too many":      {cas, now, true, pki.Fingerprints(ca.PEM)},
		"few, expired":  {ca.PEM, now.Add(2 * time.Hour), false, nil},
		"of another CA": {pkitest.NewCA("other").PEM, now, false, nil},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Published: &corev1.Secret{Data: map[string][]byte{
			corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, resources.CAKey: tc.cas}}}
		got := Certificates(f, nil, nil, tc.now)
		if got.Valid != tc.valid || !slices.Equal(got.Published.Chain, tc.chain) || got.MaxCAs != pki.MaxCAs {
			t.Errorf("%s: valid %v, needs %v, at most %d", name, got.Valid, got.Published.Chain, got.MaxCAs)
		}
	}
}

// TestClientsWait: the time of clients begins when the new CA was seen where they read it, never before.
func TestClientsWait(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("new")
	fp := pki.Fingerprints(ca.PEM)[0]
	published := &corev1.ConfigMap{Data: map[string]string{resources.CAKey: string(ca.PEM)}}
	minute := &metav1.Duration{Duration: time.Minute}
	recorded := func(state string, ago time.Duration) []v1alpha1.TrustedCA {
		at := metav1.NewTime(now.Add(-ago))
		return []v1alpha1.TrustedCA{{Fingerprint: fp, State: state, PublishedAt: &at}}
	}
	for name, c := range map[string]struct {
		trust  *corev1.ConfigMap
		record []v1alpha1.TrustedCA
		delay  *metav1.Duration
		want   time.Duration
	}{
		"not published":           {nil, nil, minute, time.Minute},
		"recorded, and gone":      {nil, recorded(v1alpha1.CACurrent, time.Hour), minute, time.Minute},
		"published, not recorded": {published, nil, minute, time.Minute},
		"without a record's time": {published, []v1alpha1.TrustedCA{{Fingerprint: fp}}, minute, time.Minute},
		"a while ago":             {published, recorded(v1alpha1.CACurrent, 20*time.Second), minute, 40 * time.Second},
		"long ago":                {published, recorded(v1alpha1.CAOld, time.Hour), minute, 0},
		"dropped meanwhile":       {published, recorded(v1alpha1.CADropped, time.Hour), minute, time.Minute},
		"by a clock ahead":        {published, recorded(v1alpha1.CACurrent, -time.Hour), minute, time.Minute},
		"no delay":                {nil, nil, &metav1.Duration{}, 0},
		"by default":              {nil, nil, nil, 2 * time.Minute},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, ClientTrust: c.trust}
		f.Cluster.Spec.TLS.ClientTrustDelay = c.delay
		f.Cluster.Status.TLS = &v1alpha1.ClusterTLSStatus{TrustedCAs: c.record}
		if got := clientsWait(f, []string{fp}, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestClientsWaitEndsBeforeTheLeaf: however long clients have, the new leaf is presented before the published one
// expires, also when nothing can be published to clients.
func TestClientsWaitEndsBeforeTheLeaf(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		lasts, left, want time.Duration
	}{
		"much time left":         {90 * 24 * time.Hour, 30 * 24 * time.Hour, 24 * time.Hour},
		"less than the delay":    {90 * 24 * time.Hour, 20 * time.Hour, 19 * time.Hour},
		"within the margin":      {90 * 24 * time.Hour, 50 * time.Minute, 0},
		"expired":                {90 * 24 * time.Hour, -time.Hour, 0},
		"a leaf of an hour":      {time.Hour, 30 * time.Minute, 24 * time.Minute},
		"a leaf of an hour ends": {time.Hour, 5 * time.Minute, 0},
	} {
		end := now.Add(c.left)
		crt, _ := pkitest.NewCA("old").Issue(pkitest.Leaf{NotBefore: end.Add(-c.lasts), NotAfter: end})
		f := Facts{Cluster: &v1alpha1.GaleraCluster{},
			Published: &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: crt}}}
		f.Cluster.Spec.TLS.ClientTrustDelay = &metav1.Duration{Duration: 24 * time.Hour}
		if got := clientsWait(f, []string{"new"}, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
