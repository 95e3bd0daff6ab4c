package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Suffix is what was chosen at random for a benchmark; "" before.
func Suffix(b *v1alpha1.GaleraBenchmark) string {
	if b.Status.Resources == nil {
		return ""
	}
	return b.Status.Resources.Suffix
}

// RunnerPrefix is what RunnerName begins with.
func RunnerPrefix(benchmark string) string { return benchmark + "-bench-" }

// RunnerName is the name of the Jobs' ServiceAccount, Role and RoleBinding. No other user can have made an object of
// that name before.
func RunnerName(b *v1alpha1.GaleraBenchmark) string { return RunnerPrefix(b.Name) + Suffix(b) }

// AccountName is the name of the GaleraUser with the Jobs' account. It is short: a GaleraUser's name is limited.
func AccountName(b *v1alpha1.GaleraBenchmark) string { return "bench-" + Suffix(b) }

// CertificateName is the name of the GaleraUser with the certificate.
func CertificateName(b *v1alpha1.GaleraBenchmark) string { return AccountName(b) + "-tls" }

// BindingName is the name of the Secret of a GaleraUser.
func BindingName(user string) string {
	return (&v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Name: user}}).BindingName()
}

// Account is the name of the account in the database.
func Account(b *v1alpha1.GaleraBenchmark) string { return "bench_" + Suffix(b) }

// Database is what a data set is called in the database: the account of this benchmark has rights on no other.
func Database(b *v1alpha1.GaleraBenchmark, dataSet string) string {
	if dataSet == "" {
		return ""
	}
	return dataSet + "_" + Suffix(b)
}
