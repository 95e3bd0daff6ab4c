package galerauser

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/users"
)

// setConditions sets the status from what the pass has found.
func (p *pass) setConditions(to *v1alpha1.GaleraUserStatus) {
	u := p.user
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		conditions.Set(&to.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
			ObservedGeneration: u.Generation})
	}
	if p.begins {
		to.Account = users.Account(u) // a deletion asks for it
	}
	if p.bound != nil {
		to.Binding = &v1alpha1.BindingStatus{Name: u.BindingName()}
		to.CertificateNotAfter = moment(p.bound.notAfter)
	}
	p.setPasswordCondition(to, set)
	p.setProxied(to, set)
	ready := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionReady)
	if p.blocker.Transient && ready != nil && ready.Status == metav1.ConditionTrue &&
		to.ObservedGeneration == u.Generation {
		return // a busy cluster is no evidence of what was applied
	}
	if p.blocker.Reason == "" && (p.begins || p.rotation != nil && p.rotation.Write) {
		return // the next pass applies it
	}
	to.ObservedGeneration = u.Generation
	if h := p.blocker; h.Reason != "" {
		set(v1alpha1.ConditionApplied, metav1.ConditionFalse, h.Reason, h.Message)
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, h.Reason, h.Message)
		return
	}
	set(v1alpha1.ConditionApplied, metav1.ConditionTrue, v1alpha1.ReasonApplied, "the account "+to.Account+
		" is in the cluster as the spec asks for")
	if h := p.bindingProblem; h.Reason != "" {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, h.Reason, h.Message)
		return
	}
	set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "the Secret "+u.BindingName()+
		" has all that an application needs to connect")
}

func (p *pass) setPasswordCondition(to *v1alpha1.GaleraUserStatus, set func(kind string, status metav1.ConditionStatus,
	reason, message string)) {
	r := p.rotation
	if p.user.Spec.Authentication.None {
		to.OldPasswordUntil, to.PasswordChangedAt = nil, nil
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionTrue, v1alpha1.ReasonNoPassword,
			"the account has no password: its certificate is enough")
		return
	}
	if r == nil {
		return
	}
	to.Renewed, to.OldPasswordUntil = r.Renewed, moment(r.Until)
	published := p.bound != nil && p.bound.password == r.Password
	if published && (to.PasswordChangedAt == nil || !r.Since.IsZero()) {
		at := p.now
		if !r.Since.IsZero() {
			at = r.Since
		}
		to.PasswordChangedAt = moment(at)
	}
	switch {
	case p.missingPassword != "":
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionFalse, v1alpha1.ReasonPasswordMissing,
			p.missingPassword+"; the account keeps the password it has")
	case r.Waiting && r.Until.IsZero():
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionFalse, v1alpha1.ReasonRotating, "the next password is made")
	case r.Waiting:
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionFalse, v1alpha1.ReasonRotating,
			fmt.Sprintf(
				"another password waits until the old one is no longer accepted, at %s: spec.authentication.overlap can be made "+
					"shorter", r.Until.UTC().Format(time.RFC3339)))
	case r.Previous != "" && published:
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionFalse, v1alpha1.ReasonOldPasswordAccepted,
			fmt.Sprintf("the binding Secret has the new password; the old one is accepted until %s",
				r.Until.UTC().Format(time.RFC3339)))
	case !published:
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionFalse, v1alpha1.ReasonRotating,
			"the binding Secret gets the password as soon as the account accepts it")
	case !r.Write: // else the account is yet to be reported
		set(v1alpha1.ConditionPasswordRotated, metav1.ConditionTrue, v1alpha1.ReasonRotated,
			"the account accepts the binding Secret's password and no other")
	}
}

// announce makes an event of what became of a user, and of drift that was corrected.
func (p *pass) announce(before, after *v1alpha1.GaleraUser) {
	was, is := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady),
		meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	p.Events.Eventf(p.user, nil, kind, is.Reason, "Apply", "%s", is.Message)
}

// drifted reports whether statements were needed though neither the spec nor the password had changed.
func (p *pass) drifted(after *v1alpha1.GaleraUser) bool {
	before := p.user.Status
	for _, conditions := range [][]metav1.Condition{before.Conditions, after.Status.Conditions} {
		if !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionPasswordRotated) {
			return false
		}
	}
	return p.repaired && before.ObservedGeneration == p.user.Generation && meta.IsStatusConditionTrue(before.Conditions,
		v1alpha1.ConditionReady)
}

func moment(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t.Truncate(time.Second)))
}
