package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Spec returns the private cluster's spec for a run. It has no other user, so it is switched the way that takes the
// least time.
func Spec(template v1alpha1.GaleraClusterSpec, r Run) v1alpha1.GaleraClusterSpec {
	s := *template.DeepCopy()
	s.TLS = s.TLS.With(r.Arm.TLS)
	s.TLS.SwitchStrategy = v1alpha1.SwitchRebootstrap
	if r.Cell.Method != "" {
		s.StateTransfer.Method = r.Cell.Method
		s.StateTransfer.Parallel = int32(r.Cell.Parallel) //nolint:gosec // 1 to 64, says the API
	}
	s.Hibernate = false
	s.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted = v1alpha1.ClaimDelete // the data is ours, and made up
	return s
}

// TemplateSum identifies a template.
func TemplateSum(t *v1alpha1.GaleraClusterSpec) string {
	text, err := json.Marshal(t)
	if err != nil {
		return "" // strings, numbers and quantities: cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// SamePolicy reports whether two policies lead to the same encryption.
func SamePolicy(a, b v1alpha1.TLSSpec) bool {
	a, b = Normal(a), Normal(b)
	return a.Replication == b.Replication && a.StateTransfer == b.StateTransfer && a.Clients == b.Clients &&
		a.MinVersion == b.MinVersion && a.Cipher == b.Cipher && a.Certificate.PrivateKey == b.Certificate.PrivateKey
}

// Normal writes out what is left to defaults.
func Normal(t v1alpha1.TLSSpec) v1alpha1.TLSSpec {
	fill := func(s, value string) string {
		if s == "" {
			return value
		}
		return s
	}
	t.Replication = v1alpha1.ReplicationTLS(fill(string(t.Replication), v1alpha1.TLSRequired))
	t.StateTransfer = v1alpha1.ReplicationTLS(fill(string(t.StateTransfer), string(t.Replication)))
	t.Clients = v1alpha1.ClientTLS(fill(string(t.Clients), v1alpha1.TLSRequired))
	t.MinVersion = fill(t.MinVersion, "1.3")
	t.Cipher = fill(t.Cipher, "Auto")
	key := &t.Certificate.PrivateKey
	key.Algorithm = fill(key.Algorithm, "ECDSA")
	if key.Size == 0 {
		key.Size = 256
		if key.Algorithm == "RSA" {
			key.Size = 2048
		}
	}
	return t
}

// Key returns the kind of key a policy leads to.
func Key(t v1alpha1.TLSSpec) (algorithm string, size int) {
	key := Normal(t).Certificate.PrivateKey
	return key.Algorithm, int(key.Size)
}

// ClientsUseTLS reports whether load generators speak TLS under a policy.
func ClientsUseTLS(t v1alpha1.TLSSpec) bool { return Normal(t).Clients != v1alpha1.TLSDisabled }
