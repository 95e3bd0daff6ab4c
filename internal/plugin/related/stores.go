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
			found = append(found, Finding{Kind: store, Namespace: c.Namespace, Name: name, State: Failing,
				Reason:  v1alpha1.ReasonStoreNotFound,
				Message: "there is no such GaleraBackupStore in this namespace: create it, or name another one",
				Command: "kubectl get galerabackupstores -n " + c.Namespace})
			continue
		}
		if f, wrong := unreachable(&o.Stores[i]); wrong {
			found = append(found, f)
		}
	}
	return found
}

// unreachable explains why a store cannot be used.
func unreachable(s *v1alpha1.GaleraBackupStore) (Finding, bool) {
	r := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
	switch {
	case r == nil || r.ObservedGeneration != s.Generation:
		return about(store, s, Waiting, v1alpha1.ReasonChecking, "waiting for the operator to check it"), true
	case r.Status == metav1.ConditionTrue:
		return Finding{}, false
	}
	f := about(store, s, Failing, r.Reason, r.Message)
	if !strings.HasSuffix(r.Message, ": create it.") && !strings.HasSuffix(r.Message, ": name another one.") {
		// else it describes what to do
		f.Do = storeAdvice(s, r.Reason)
	}
	f.Command = fmt.Sprintf("kubectl describe galerabackupstore %s -n %s", s.Name, s.Namespace)
	if r.Reason == v1alpha1.ReasonChecking {
		f.State = Waiting
	}
	return f, true
}

// storeAdvice names what to check: the parts of the spec that the error is about.
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
	o, ok := objectStore(s)
	if !ok {
		return ""
	}
	switch reason {
	case v1alpha1.ReasonStoreRefused:
		with := "the ServiceAccount's identity"
		if o.secret != "" {
			with = "the key in the Secret " + o.secret
		}
		return fmt.Sprintf("Check that the %s exists at %s, and that %s may list it, and write, read and delete there",
			o.bucket, o.endpoint, with)
	case v1alpha1.ReasonStoreUnreachable:
		return fmt.Sprintf(
			"Check the endpoint (%s): its name in DNS, its certificate (caBundle), and that NetworkPolicies let Jobs reach it",
			o.endpoint)
	case v1alpha1.ReasonStoreFull:
		return "Make space, or keep fewer backups (spec.retention)"
	}
	return ""
}

// place is where an object store is, in words.
type place struct{ bucket, endpoint, secret string }

func objectStore(s *v1alpha1.GaleraBackupStore) (p place, ok bool) {
	switch {
	case s.Spec.S3 != nil:
		b := s.Spec.S3
		p = place{bucket: "bucket " + b.Bucket, endpoint: cmp.Or(b.Endpoint, "Amazon S3, "+cmp.Or(b.Region, "us-east-1"))}
		if b.Credentials != nil {
			p.secret = b.Credentials.SecretName
		}
	case s.Spec.GCS != nil:
		b := s.Spec.GCS
		p = place{bucket: "bucket " + b.Bucket, endpoint: cmp.Or(b.Endpoint, "Google Cloud Storage")}
		if b.Credentials != nil {
			p.secret = b.Credentials.SecretName
		}
	case s.Spec.Azure != nil:
		b := s.Spec.Azure
		p = place{bucket: "container " + b.Container, endpoint: cmp.Or(b.Endpoint, "Azure, account "+b.Account)}
		if b.Credentials != nil {
			p.secret = b.Credentials.SecretName
		}
	default:
		return p, false
	}
	return p, true
}
