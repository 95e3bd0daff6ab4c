package related

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// passing are the reasons that end by themselves.
var passing = []string{v1alpha1.ReasonWaitingCluster, v1alpha1.ReasonClusterPaused, v1alpha1.ReasonAgentUnreachable,
	v1alpha1.ReasonCertificatePending, v1alpha1.ReasonRotating, v1alpha1.ReasonDropping}

// users judges users, their bindings, and databases; nil if there are none.
func users(o Objects, now time.Time) *Area {
	unread := o.unread(user, database, binding)
	if len(o.Users) == 0 && len(o.Databases) == 0 && !unread {
		return nil
	}
	var found []Finding
	for i := range o.Users {
		u := &o.Users[i]
		found = append(found, account(user, u, u.Status.Conditions)...)
		found = append(found, bound(o, u, now)...)
	}
	for i := range o.Databases {
		d := &o.Databases[i]
		found = append(found, account(database, d, d.Status.Conditions)...)
	}
	return area(found, unread)
}

// account explains why a user or a database is not Ready.
func account(kind string, o client.Object, conditions []metav1.Condition) []Finding {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return []Finding{about(kind, o, Waiting, "NotSeen", "the operator has not seen it yet")}
	case ready.Status == metav1.ConditionTrue:
		return nil
	}
	f := about(kind, o, Failing, ready.Reason, ready.Message)
	if slices.Contains(passing, ready.Reason) {
		f.State = Waiting
	}
	f.Command = fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(kind), o.GetName(), o.GetNamespace())
	return []Finding{f}
}

// bound judges what applications connect with: the binding Secret, its certificate, and its password.
func bound(o Objects, u *v1alpha1.GaleraUser, now time.Time) (found []Finding) {
	describe := fmt.Sprintf("kubectl describe galerauser %s -n %s", u.Name, u.Namespace)
	if names, read := o.Secrets[u.Namespace]; read && u.Status.Binding != nil &&
		!slices.Contains(names, u.Status.Binding.Name) {
		f := about(user, u, Failing, "BindingMissing", fmt.Sprintf("the Secret %s is gone, and applications connect with it",
			u.Status.Binding.Name))
		f.Do, f.Command = "The operator writes it again within seconds; if it does not, see that one runs", describe
		found = append(found, f)
	}
	if until := u.Status.CertificateNotAfter; until != nil && until.Time.Before(now) {
		f := about(user, u, Failing, v1alpha1.ReasonCertificateExpired,
			"the certificate in its binding Secret has expired at "+clock(until))
		f.Command = describe
		found = append(found, f)
	}
	if p := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionPasswordRotated); p != nil &&
		p.Reason == v1alpha1.ReasonPasswordMissing &&
		meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionReady) {
		f := about(user, u, Failing, p.Reason, p.Message)
		f.Command = describe
		found = append(found, f)
	}
	return found
}
