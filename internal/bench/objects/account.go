package objects

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// PasswordKey is the key of the password in the account's binding Secret.
const PasswordKey = "password"

// privileges are what a benchmark may do in its own databases: what sysbench and its scripts need.
var privileges = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER"}

// databases are those of all data sets of a benchmark.
func databases(b *v1alpha1.GaleraBenchmark) (names []string) {
	seen := map[string]bool{}
	for _, cell := range experiment.Cells(&b.Spec) {
		data := experiment.DataSet(cell)
		if data.Database == "" || seen[data.Database] {
			continue
		}
		seen[data.Database] = true
		data.Database = Database(b, data.Database)
		names = append(names, data.Names()...)
	}
	return names
}

// Accounts returns what a benchmark's Jobs need in the database: the test data's databases, and an account that has
// rights on these only. Where clients speak TLS there is a second one, for its certificate: sysbench wants one.
func Accounts(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) (out []client.Object) {
	cluster := v1alpha1.ClusterReference{Name: c.Name}
	account := &v1alpha1.GaleraUser{TypeMeta: kind("GaleraUser"), ObjectMeta: owned(b, AccountName(b)),
		Spec: v1alpha1.GaleraUserSpec{ClusterRef: cluster, Name: Account(b), Require: v1alpha1.RequireNone,
			DeletionPolicy: v1alpha1.AccountDelete}}
	for _, name := range databases(b) {
		out = append(out, &v1alpha1.GaleraDatabase{TypeMeta: kind("GaleraDatabase"),
			ObjectMeta: owned(b, strings.ReplaceAll(name, "_", "-")),
			Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: cluster, Name: name,
				DeletionPolicy: v1alpha1.AccountDelete}})
		account.Spec.Grants = append(account.Spec.Grants, v1alpha1.GrantSpec{Privileges: privileges, Database: name})
	}
	out = append(out, account)
	if experiment.ClientsUseTLS(c.Spec.TLS) {
		out = append(out, &v1alpha1.GaleraUser{TypeMeta: kind("GaleraUser"), ObjectMeta: owned(b, CertificateName(b)),
			Spec: v1alpha1.GaleraUserSpec{ClusterRef: cluster, Name: Account(b) + "_tls", Require: v1alpha1.RequireX509,
				Authentication: v1alpha1.AuthenticationSpec{None: true}, DeletionPolicy: v1alpha1.AccountDelete}})
	}
	return out
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: name}
}
