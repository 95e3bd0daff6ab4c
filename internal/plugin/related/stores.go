package related

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// stores judges the stores of these names.
func stores(c *v1alpha1.GaleraCluster, o Objects, names []string) (found []Finding) {
	if o.unread(store) {
		return nil
	}
	for _, name := range names {
		i := slices.IndexFunc(o.Stores, func(s v1alpha1.GaleraBackupStore) bool { return s.Name == name })
		if i < 0 {
			found = append(found, Finding{Kind: store, Namespace: c.Namespace, Name: name, State: Failing, Reason: v1alpha1.ReasonStoreNotFound,
				Message: "there is no such GaleraBackupStore in this namespace: create it, or name another one", Command: "kubectl get galerabackupstores -n " + c.Namespace})
			continue
		}
		if f, wrong := unreachable(&o.Stores[i]); wrong {
			found = append(found, f)
		}
	}
	return found
}

// unreachable says why a store cannot be used.
func unreachable(s *v1alpha1.GaleraBackupStore) (Finding, bool) {
	r := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
	switch {
	case r == nil || r.ObservedGeneration != s.Generation:
		return about(store, s, Waiting, v1alpha1.ReasonChecking, "waiting for the operator to check it"), true
	case r.Status == metav1.ConditionTrue:
		return Finding{}, false
	}
	f := about(store, s, Failing, r.Reason, r.Message)
	if !strings.HasSuffix(r.Message, ": create it") && !strings.HasSuffix(r.Message, ": name another one") { // else it says what to do
		f.Do = storeAdvice(s, r.Reason)
	}
	f.Command = fmt.Sprintf("kubectl describe galerabackupstore %s -n %s", s.Name, s.Namespace)
	if r.Reason == v1alpha1.ReasonChecking {
		f.State = Waiting
	}
	return f, true
}

// storeAdvice names what to look at: the parts of the spec that the error is about.
func storeAdvice(s *v1alpha1.GaleraBackupStore, reason string) string {
	if v := s.Spec.Volume; v != nil {
		switch reason {
		case v1alpha1.ReasonStoreFull:
			return "Enlarge the claim " + v.ClaimName + ", or keep fewer backups (spec.retention)"
		case v1alpha1.ReasonStoreUnreachable, v1alpha1.ReasonStoreRefused:
			return "Check that the claim " + v.ClaimName + " exists and can be mounted"
		}
		return ""
	}
	b := s.Spec.S3
	if b == nil {
		return ""
	}
	where := cmp.Or(b.Endpoint, "Amazon S3, "+cmp.Or(b.Region, "us-east-1"))
	switch reason {
	case v1alpha1.ReasonStoreRefused:
		with := "the ServiceAccount's identity"
		if b.Credentials != nil {
			with = "the key in the Secret " + b.Credentials.SecretName
		}
		return fmt.Sprintf("Check that the bucket %s exists at %s, and that %s may list it, and write, read and delete there", b.Bucket, where, with)
	case v1alpha1.ReasonStoreUnreachable:
		return fmt.Sprintf("Check the endpoint (%s): its name in DNS, its certificate (spec.s3.caBundle), and that NetworkPolicies let Jobs reach it", where)
	case v1alpha1.ReasonStoreFull:
		return "Make room, or keep fewer backups (spec.retention)"
	}
	return ""
}
