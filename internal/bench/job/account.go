package job

import (
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// PasswordKey is the key of the password in the Secret AccountName.
const PasswordKey = "password"

// Account is the Jobs' account in the database. Its password leaves the Secret as a hash only.
func Account(b *v1alpha1.GaleraBenchmark, password string) agentapi.BenchAccount {
	return agentapi.BenchAccount{Suffix: Suffix(b), Hash: agentapi.NativeHash(password), Present: true}
}

// NoAccount asks for the account, and for its databases, to be dropped.
func NoAccount(b *v1alpha1.GaleraBenchmark) agentapi.BenchAccount {
	return agentapi.BenchAccount{Suffix: Suffix(b)}
}

// AccountSecret returns the Secret with the password of that account.
func AccountSecret(b *v1alpha1.GaleraBenchmark, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: owned(b, AccountName(b)), Type: corev1.SecretTypeOpaque, Immutable: new(true),
		Data: map[string][]byte{PasswordKey: []byte(password)}}
}
