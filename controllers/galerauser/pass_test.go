package galerauser

import (
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"testing"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestKilledAnywhere: an operator that was killed before or after any of its writes is followed by one that goes on.
// Deleted at that moment, the user leaves no account behind.
func TestKilledAnywhere(t *testing.T) {
	for _, none := range []bool{false, true} {
		for _, deleted := range []bool{false, true} {
			for kill, ended := 1, false; !ended; kill++ {
				for _, after := range []bool{false, true} {
					u := user(func(u *v1alpha1.GaleraUser) {
						if u.Spec.Authentication.None = none; none {
							u.Spec.Require = v1alpha1.RequireX509
						}
					})
					w := newWorld(t, u)
					w.kill, w.after = kill, after
					w.settle(w.operator(), u)
					ended = w.writes < kill
					w.kill = 0
					if deleted {
						w.must(w.kube.Delete(t.Context(), u))
					}
					w.settle(w.operator(), u)
					what := fmt.Sprintf("no password %t, deleted %t, killed at write %d, after it %t", none, deleted, kill, after)
					_, made := w.accounts["app"]
					switch {
					case deleted && (made || !w.gone(u)):
						t.Errorf("%s: left are %v", what, w.accounts)
					case !deleted && none && (!made || w.condition(u, v1alpha1.ConditionReady) != "False CertificatePending"):
						t.Errorf("%s: %s, %v", what, w.condition(u, v1alpha1.ConditionReady), w.accounts)
					case !deleted && !none && (!w.opens() || w.condition(u, v1alpha1.ConditionReady) != "True Ready"):
						t.Errorf("%s: %s, %v", what, w.condition(u, v1alpha1.ConditionReady), w.accounts)
					}
				}
				if kill > 20 {
					t.Fatal("it writes without end")
				}
			}
		}
	}
}

// TestKilledWhileRotating: the published password opens the account, wherever the operator was killed.
func TestKilledWhileRotating(t *testing.T) {
	for kill, ended := 1, false; !ended; kill++ {
		for _, after := range []bool{false, true} {
			u := user(nil)
			w := newWorld(t, u)
			w.settle(w.operator(), u)
			before := string(w.secret("data", "app-binding")["password"])
			w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
			u.Annotations = map[string]string{v1alpha1.AnnotationRenew: "password@1"}
			w.must(w.kube.Update(t.Context(), u))
			w.writes, w.kill, w.after = 0, kill, after
			w.settle(w.operator(), u)
			ended = w.writes < kill
			if w.kill = 0; !w.opens() {
				t.Errorf("killed at write %d, after it %t: the published password is refused", kill, after)
			}
			w.settle(w.operator(), u)
			if got := w.condition(u, v1alpha1.ConditionPasswordRotated); got != "False OldPasswordAccepted" || !w.opens() ||
				string(w.secret("data", "app-binding")["password"]) == before {
				t.Errorf("killed at write %d, after it %t: %s", kill, after, got)
			}
			w.now = w.now.Add(2 * time.Hour)
			w.settle(w.operator(), u)
			if got := w.condition(u, v1alpha1.ConditionPasswordRotated); got != "True Rotated" ||
				len(w.accounts["app"].Accepts) != 1 || !w.opens() {
				t.Errorf("killed at write %d, after it %t: %s", kill, after, got)
			}
		}
	}
}

// TestDriftIsReported, of accounts with a password and without.
func TestDriftIsReported(t *testing.T) {
	u := user(nil)
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	if w.hasEvent("DriftCorrected") {
		t.Error("a new account is no drift")
	}
	w.settle(r, u)
	if w.hasEvent("DriftCorrected") {
		t.Error("nothing was changed by hand")
	}
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	u.Annotations = map[string]string{v1alpha1.AnnotationRenew: "password@1"}
	w.must(w.kube.Update(t.Context(), u))
	for range 3 {
		w.settle(r, u)
		w.now = w.now.Add(2 * time.Hour)
	}
	if w.condition(u, v1alpha1.ConditionPasswordRotated) != "True Rotated" || len(w.accounts["app"].Accepts) != 1 ||
		w.hasEvent("DriftCorrected") {
		t.Error("a rotation is no drift")
	}
	delete(w.accounts, "app")
	w.settle(r, u)
	if !w.hasEvent("DriftCorrected") || !w.opens() {
		t.Error("an account that was dropped by hand")
	}
}

// TestGivenPassword: a Secret that is not there yet, that is deleted later, and that changes.
func TestGivenPassword(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) {
		u.Spec.Authentication.PasswordSecretRef = &v1alpha1.PasswordKey{Name: "mine", Key: "word"}
	})
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False PasswordMissing" || len(w.accounts) > 0 {
		t.Errorf("%s, %v", got, w.accounts)
	}
	mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "mine"},
		Data: map[string][]byte{"word": []byte("one\n")}}
	w.must(w.kube.Create(t.Context(), mine))
	w.settle(r, u)
	if string(w.secret("data", "app-binding")["password"]) != "one" || !w.opens() {
		t.Error("the person's password")
	}
	w.must(w.kube.Delete(t.Context(), mine))
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionPasswordRotated); got != "False PasswordMissing" ||
		w.condition(u, v1alpha1.ConditionReady) != "True Ready" || !w.opens() {
		t.Errorf("deleted later: %s", got)
	}
}

// TestForeignSecrets are neither overwritten nor used.
func TestForeignSecrets(t *testing.T) {
	for _, name := range []string{"app-binding", "app-password"} {
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: name},
			Data: map[string][]byte{"password": []byte("theirs")}}
		u := user(nil)
		w := newWorld(t, u, theirs)
		r := w.operator()
		if again := w.settle(r, u); again < clusterref.WaitInterval {
			t.Errorf("%s is in the way: checked again after %s", name, again)
		}
		if got := w.condition(u, v1alpha1.ConditionReady); got != "False NameTaken" || len(w.accounts) > 0 ||
			string(w.secret("data", name)["password"]) != "theirs" {
			t.Errorf("%s: %s, %v", name, got, w.accounts)
		}
		w.must(w.kube.Delete(t.Context(), theirs)) // which sends no event
		if w.settle(r, u); !w.opens() {
			t.Errorf("%s was removed", name)
		}
	}
	clusters := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop-root",
		Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}, Data: map[string][]byte{"password": []byte("root's")}}
	u := user(func(u *v1alpha1.GaleraUser) {
		u.Spec.Authentication.PasswordSecretRef = &v1alpha1.PasswordKey{Name: "shop-root", Key: "password"}
	})
	w := newWorld(t, u, clusters)
	w.settle(w.operator(), u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False PasswordMissing" || len(w.accounts) > 0 {
		t.Errorf("a cluster's Secret: %s", got)
	}
}

// TestAnotherClusterOfTheName: one that was made anew, from a backup of before the user or from nothing, gets the
// account again, with the password that applications have.
func TestAnotherClusterOfTheName(t *testing.T) {
	u := user(nil)
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	before := string(w.secret("data", "app-binding")["password"])
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	running := c.DeepCopy().Status
	c.Status = v1alpha1.GaleraClusterStatus{}
	w.must(w.kube.Status().Update(t.Context(), c))
	w.accounts = map[string]agentapi.SQLUser{}
	if woken := r.byCluster(t.Context(), c); len(woken) != 1 {
		t.Errorf("woken by a cluster that has not begun: %v", woken)
	}
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False ClusterBusy" {
		t.Errorf("nothing is applied to it: %s", got)
	}
	c.Status = running
	w.must(w.kube.Status().Update(t.Context(), c))
	if woken := r.byCluster(t.Context(), c); len(woken) != 1 {
		t.Errorf("woken by what it waits for: %v", woken)
	}
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "True Ready" || !w.opens() ||
		string(w.secret("data", "app-binding")["password"]) != before {
		t.Errorf("%s, %v", got, w.accounts)
	}
	if woken := r.byCluster(t.Context(), c); len(woken) != 0 {
		t.Errorf("woken for nothing: %v", woken)
	}
}

// TestTLSUnavailable: a user is not Ready as soon as its cluster is to offer clients no TLS, though the cluster is busy
// with coming to that; and is Ready again when it offers it again.
func TestTLSUnavailable(t *testing.T) {
	u := user(nil)
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	serving := c.DeepCopy().Status
	c.Spec.TLS.Clients = v1alpha1.TLSDisabled
	w.must(w.kube.Update(t.Context(), c))
	meta.RemoveStatusCondition(&c.Status.Conditions, v1alpha1.ConditionAvailable)
	w.must(w.kube.Status().Update(t.Context(), c))
	if woken := r.byCluster(t.Context(), c); len(woken) != 1 {
		t.Errorf("woken by the loss of TLS: %v", woken)
	}
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False TLSUnavailable" {
		t.Error(got)
	}
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	w.must(w.kube.Update(t.Context(), c))
	c.Status = serving
	w.must(w.kube.Status().Update(t.Context(), c))
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "True Ready" || !w.opens() {
		t.Error(got)
	}
}

// TestNotAdmitted: a namespace that the cluster does not admit reaches nothing of it, hears nothing of it, and waits
// for nothing.
func TestNotAdmitted(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) { u.Namespace = "team" })
	w := newWorld(t, u)
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	meta.RemoveStatusCondition(&c.Status.Conditions, v1alpha1.ConditionAvailable)
	w.must(w.kube.Status().Update(t.Context(), c))
	r := w.operator()
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False NamespaceNotAllowed" {
		t.Error(got)
	}
	w.must(w.kube.Delete(t.Context(), u))
	w.settle(r, u)
	if !w.gone(u) || w.asked > 0 {
		t.Errorf("gone %t, asked %d times", w.gone(u), w.asked)
	}
}

// TestRetained: the account stays, the cluster is not needed for that, and the same resource has it again.
func TestRetained(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) { u.Spec.DeletionPolicy = v1alpha1.AccountRetain })
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	w.must(w.kube.Delete(t.Context(), u))
	asked := w.asked
	w.settle(r, u)
	if _, made := w.accounts["app"]; !made || !w.gone(u) || w.asked != asked {
		t.Errorf("%v, asked %d times", w.accounts, w.asked-asked)
	}
	for _, s := range []string{"app-binding", "app-password"} { // as the garbage collector does
		w.must(w.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: s}}))
	}
	again := user(func(u *v1alpha1.GaleraUser) { u.UID = "again" })
	w.must(w.kube.Create(t.Context(), again))
	w.settle(r, again)
	if got := w.condition(again, v1alpha1.ConditionReady); got != "True Ready" || !w.opens() {
		t.Error(got)
	}
}

// TestPredecessorsAccountIsDropped: a restored cluster has the account with the mark of an earlier object of the name;
// a deletion drops it, too.
func TestPredecessorsAccountIsDropped(t *testing.T) {
	u := user(nil)
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	restored := w.accounts["app"]
	restored.Owner = agentapi.Named(restored.Owner) + "#earlier"
	w.accounts["app"] = restored
	w.must(w.kube.Delete(t.Context(), u))
	w.settle(r, u)
	if have, is := w.accounts["app"]; is || !w.gone(u) {
		t.Errorf("the account is left: %+v, gone %t", have, w.gone(u))
	}
}

// TestCertificates: what cert-manager reports of a refusal is reported, no other user's certificate is given away, and
// none stays without need.
func TestCertificates(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireX509 })
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	c := &v1alpha1.GaleraCluster{}
	w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
	cert := resources.UserCertificate(c, u)
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(cert), cert))
	cert.Status.Conditions = []cmv1.CertificateCondition{{Type: cmv1.CertificateConditionIssuing,
		Status: cmmeta.ConditionFalse, Reason: "Denied", Message: "denied by policy"}}
	w.must(w.kube.Update(t.Context(), cert))
	w.settle(r, u)
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	if ready := meta.FindStatusCondition(u.Status.Conditions,
		v1alpha1.ConditionReady); ready.Reason != v1alpha1.ReasonCertificatePending || !strings.Contains(ready.Message,
		"denied by policy") {
		t.Errorf("%+v", ready)
	}
	pair := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: cert.Name}, Data: map[string][]byte{}}
	issue := func(organization, name string) {
		pair.Data["tls.crt"], pair.Data["tls.key"] = pkitest.NewCA("clients").
			Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: name, Organization: []string{organization}}})
	}
	issue("data", "other")
	w.must(w.kube.Create(t.Context(), pair))
	w.settle(r, u)
	if len(w.secret("data", "app-binding")) > 0 {
		t.Error("another user's certificate is given away")
	}
	issue("data", "app")
	w.must(w.kube.Update(t.Context(), pair))
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "True Ready" ||
		len(w.secret("data", "app-binding")["tls.key"]) == 0 {
		t.Error(got)
	}
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	u.Spec.Require, u.Generation = v1alpha1.RequireTLS, 2
	w.must(w.kube.Update(t.Context(), u))
	w.settle(r, u)
	if !w.gone(cert) || !w.gone(pair) || len(w.secret("data", "app-binding")["tls.key"]) > 0 {
		t.Error("a certificate that the spec no longer asks for")
	}
}
