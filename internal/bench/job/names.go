package job

import v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"

// Suffix is what was chosen at random for a benchmark; "" before.
func Suffix(b *v1alpha1.GaleraBenchmark) string {
	if b.Status.Resources == nil {
		return ""
	}
	return b.Status.Resources.Suffix
}

// RunnerPrefix is what RunnerName begins with.
func RunnerPrefix(benchmark string) string { return benchmark + "-bench-" }

// RunnerName is the name of the Jobs' ServiceAccount, Role, RoleBinding and of the client's certificate. No other user
// can have made an object of that name before.
func RunnerName(b *v1alpha1.GaleraBenchmark) string { return RunnerPrefix(b.Name) + Suffix(b) }

// AccountName is the name of the Secret with the password of the Jobs' account in the database.
func AccountName(b *v1alpha1.GaleraBenchmark) string { return RunnerName(b) + "-account" }

// Database is what a data set is called in the database: the account of this benchmark has rights on no other.
func Database(b *v1alpha1.GaleraBenchmark, dataSet string) string {
	if dataSet == "" {
		return ""
	}
	return dataSet + "_" + Suffix(b)
}
