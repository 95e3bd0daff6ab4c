package e2e

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

// sampleApp applies config/samples/app.yaml to a cluster.
func sampleApp(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	applySample(ctx, c, "app.yaml")
}

// applySample applies one of config/samples to a cluster, with its name in place of the sample's, until the spec ends.
func applySample(ctx context.Context, c *harness.Cluster, name string) {
	GinkgoHelper()
	file, err := os.ReadFile("../../config/samples/" + name)
	Expect(err).NotTo(HaveOccurred())
	for _, document := range strings.Split(string(file), "\n---\n") {
		o := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(document), &o.Object)).To(Succeed())
		o.SetNamespace(c.Namespace)
		if _, has, _ := unstructured.NestedString(o.Object, "spec", "clusterRef", "name"); has {
			Expect(unstructured.SetNestedField(o.Object, c.Name, "spec", "clusterRef", "name")).To(Succeed())
		}
		Expect(kube.Create(ctx, o)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(ctrlclient.IgnoreNotFound(kube.Delete(ctx, o))).To(Succeed()) })
	}
}

// userOf makes a GaleraUser, which goes with the spec.
func userOf(ctx context.Context, c *harness.Cluster, namespace, name string,
	edit func(*v1alpha1.GaleraUserSpec)) *v1alpha1.GaleraUser {
	GinkgoHelper()
	u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	u.Spec.ClusterRef = v1alpha1.ClusterReference{Name: c.Name}
	if namespace != c.Namespace {
		u.Spec.ClusterRef.Namespace = c.Namespace
	}
	if edit != nil {
		edit(&u.Spec)
	}
	Expect(kube.Create(ctx, u)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(ctrlclient.IgnoreNotFound(kube.Delete(ctx, u))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(u), &v1alpha1.GaleraUser{}))
		}).WithTimeout(shortly).Should(BeTrue(), "the user is gone")
	})
	return u
}

func changeUser(ctx context.Context, u *v1alpha1.GaleraUser, edit func(*v1alpha1.GaleraUser)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		edit(u)
		return kube.Update(ctx, u)
	}).WithTimeout(shortly).Should(Succeed())
}

// conditionOf is a condition of a user: its status and its reason.
func conditionOf(ctx context.Context, u *v1alpha1.GaleraUser, kind string) func() string {
	return func() string {
		have := &v1alpha1.GaleraUser{}
		if err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(u), have); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(have.Status.Conditions, kind)
		if c == nil || have.Status.ObservedGeneration != have.Generation {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
}

// eventsOf are the reasons of a user's events.
func eventsOf(ctx context.Context, u *v1alpha1.GaleraUser) (reasons []string) {
	GinkgoHelper()
	var all eventsv1.EventList
	Expect(kube.List(ctx, &all, ctrlclient.InNamespace(u.Namespace))).To(Succeed())
	for _, e := range all.Items {
		if e.Regarding.Kind == "GaleraUser" && e.Regarding.Name == u.Name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

func awaitUser(ctx context.Context, u *v1alpha1.GaleraUser, kind, want string) {
	GinkgoHelper()
	Eventually(conditionOf(ctx, u, kind)).WithTimeout(shortly).WithPolling(100 * time.Millisecond).Should(Equal(want))
}

func bindingOf(ctx context.Context, c *harness.Cluster, u *v1alpha1.GaleraUser) *harness.Binding {
	GinkgoHelper()
	b, err := harness.ReadBinding(ctx, c, u.Namespace, u.Name)
	Expect(err).NotTo(HaveOccurred())
	return b
}

var _ = Describe("An application", Label(Core), func() {
	It("gets a database, a user and a Secret to connect with, and its password changes unnoticed", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		sampleApp(ctx, shop)
		u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "app"}}
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		ready := time.Since(start)
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: "app"}, d)).To(Succeed())
			g.Expect(d.Status.ReadyReplicas).To(Equal(int32(1)))
		}).WithTimeout(shortly).WithPolling(100 * time.Millisecond).Should(Succeed())
		progress("the user is Ready after %s, the application writes after %s", ready.Round(10*time.Millisecond),
			time.Since(start).Round(10*time.Millisecond))
		secret := &corev1.Secret{}
		Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: "app-binding"}, secret)).To(Succeed())
		Expect(secret.Type).To(Equal(corev1.SecretType("servicebinding.io/mysql")))
		for _, key := range []string{"type", "provider", "host", "port", "username", "password", "database", "uri", "ca.crt",
			"jdbc-url", "go-dsn", "sqlalchemy-url"} {
			Expect(secret.Data).To(HaveKey(key))
		}

		const overlap = 10 * time.Second // in which a busy machine must show that the old password is accepted
		changeUser(ctx, u, func(u *v1alpha1.GaleraUser) {
			u.Spec.Authentication.Overlap = &metav1.Duration{Duration: overlap}
		})
		old := bindingOf(ctx, shop, u)
		// Two rotations: the second waits for the end of the first one's overlap.
		knocker, err := harness.StartKnocker(ctx, shop, shop.Namespace, "app", overlap)
		Expect(err).NotTo(HaveOccurred())
		changeUser(ctx, u, func(u *v1alpha1.GaleraUser) {
			u.Annotations = map[string]string{v1alpha1.AnnotationRenew: "password@1"}
		})
		awaitUser(ctx, u, v1alpha1.ConditionPasswordRotated, "False OldPasswordAccepted")
		changed := bindingOf(ctx, shop, u)
		Expect(changed.Password()).NotTo(Equal(old.Password()))
		changeUser(ctx, u, func(u *v1alpha1.GaleraUser) { u.Annotations[v1alpha1.AnnotationRenew] = "password@2" })
		Eventually(func() string { return bindingOf(ctx, shop, u).Password() }).WithTimeout(shortly).
			ShouldNot(Equal(changed.Password()))
		awaitUser(ctx, u, v1alpha1.ConditionPasswordRotated, "True Rotated")
		knocker.Stop()
		Expect(knocker.Failures).To(BeEmpty(), "%d logins", knocker.Logins)
		Expect(knocker.Logins).To(BeNumerically(">", 10))
		progress("two rotations, %d logins, none failed", knocker.Logins)
		for _, b := range []*harness.Binding{old, changed} {
			Expect(b.Login(ctx)).To(MatchError(ContainSubstring("1045")), "an old password")
		}
		eventually(ctx, func(o Gomega) { // a replica applies when it comes to it
			rows, err := client(ctx, shop).QueryPod(ctx, podNames(ctx, shop)[0], "SELECT COUNT(*) FROM app.visits")
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(rows).NotTo(Equal("0"))
		})
	}, SpecTimeout(8*time.Minute))

	It("logs in with its certificate, which opens nothing else, and is renewed unnoticed", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		x509 := func(s *v1alpha1.GaleraUserSpec) {
			s.Require, s.Authentication.None = v1alpha1.RequireX509, true
			s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"PROCESS"}}}
		}
		u, other := userOf(ctx, shop, shop.Namespace, "certified", x509), userOf(ctx, shop, shop.Namespace, "stranger", x509)
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		awaitUser(ctx, other, v1alpha1.ConditionReady, "True Ready")
		b := bindingOf(ctx, shop, u)
		Expect(b.Data).NotTo(HaveKey("password"))
		Eventually(func() error { return b.Login(ctx) }).WithTimeout(shortly).Should(Succeed(),
			"the nodes load the clients' CA live")
		theirs := bindingOf(ctx, shop, other)
		Expect(b.With("tls.crt", theirs.Data["tls.crt"]).With("tls.key", theirs.Data["tls.key"]).Login(ctx)).
			To(MatchError(ContainSubstring("1045")), "the certificate of another user")
		Expect(b.With("tls.crt", nil).Login(ctx)).To(MatchError(ContainSubstring("1045")), "no certificate")
		forged, err := shop.Certificates().Issue(ctx, pkitest.Leaf{
			Subject: pkix.Name{Organization: []string{shop.Namespace}, CommonName: "certified"}, Usages: pkitest.Both})
		Expect(err).NotTo(HaveOccurred())
		Expect(b.With("tls.crt", forged.Certificate).With("tls.key", forged.Key).Login(ctx)).
			To(MatchError(Not(ContainSubstring("1045"))), "the same name, by the nodes' CA: refused in the handshake")
		greeting, err := shop.Peers().Dial(ctx, podNames(ctx, shop)[0], &harness.Pair{Certificate: b.Data["tls.crt"],
			Key: b.Data["tls.key"]}, harness.GreetingTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(greeting.Welcomed).To(BeFalse(), "a client's certificate must not open replication")

		knocker, err := harness.StartKnocker(ctx, shop, shop.Namespace, "certified", time.Hour)
		Expect(err).NotTo(HaveOccurred())
		issued := &corev1.SecretList{}
		Expect(kube.List(ctx, issued, ctrlclient.InNamespace(shop.Namespace))).To(Succeed())
		for i := range issued.Items {
			if s := &issued.Items[i]; strings.Contains(s.Name, "-user-") {
				Expect(kube.Delete(ctx, s)).To(Succeed())
			}
		}
		Eventually(func() string { return string(bindingOf(ctx, shop, u).Data["tls.crt"]) }).WithTimeout(shortly).
			ShouldNot(Equal(string(b.Data["tls.crt"])))
		knocker.Stop()
		Expect(knocker.Failures).To(BeEmpty(), "%d logins", knocker.Logins)
		Expect(knocker.Logins).To(Not(BeZero()))
		progress("a certificate renewed, %d logins, none failed", knocker.Logins)
	}, SpecTimeout(8*time.Minute))

	It("loses its connections with its user, and what was changed by hand is put right", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		root := client(ctx, shop)
		primary := shop.Name + "-primary"
		Expect(root.Exec(ctx, primary, "CREATE OR REPLACE USER byhand@'%' IDENTIFIED BY 'x'")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(root.Exec(ctx, primary, "DROP USER IF EXISTS byhand@'%'")).
				To(Succeed())
		})
		taken := userOf(ctx, shop, shop.Namespace, "byhand", nil)
		awaitUser(ctx, taken, v1alpha1.ConditionReady, "False ExistsAlready")
		waits := userOf(ctx, shop, shop.Namespace, "early", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"SELECT"}, Database: "notyet"}}
		})
		awaitUser(ctx, waits, v1alpha1.ConditionReady, "False GrantWaits")
		wrong := userOf(ctx, shop, shop.Namespace, "wrong", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"SELEKT"}, Database: "mysql"}}
		})
		awaitUser(ctx, wrong, v1alpha1.ConditionReady, "False ServerRefused")

		u := userOf(ctx, shop, shop.Namespace, "leaver", func(s *v1alpha1.GaleraUserSpec) {
			s.Name, s.Grants = "o'lea`ver", []v1alpha1.GrantSpec{{Privileges: []string{"PROCESS"}}}
		})
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		Eventually(func() []string { // what is changed while the operator is still at it is no drift
			Expect(root.Exec(ctx, primary, "REVOKE ALL PRIVILEGES ON *.* FROM 'o''lea`ver'@'%'",
				"ALTER USER 'o''lea`ver'@'%' IDENTIFIED BY 'mine'")).To(Succeed())
			changeUser(ctx, u, func(u *v1alpha1.GaleraUser) { u.Annotations = map[string]string{"look": time.Now().String()} })
			return eventsOf(ctx, u)
		}).WithTimeout(shortly).WithPolling(2 * time.Second).Should(ContainElement("DriftCorrected"))
		b := bindingOf(ctx, shop, u)
		db, err := b.Open()
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		db.SetMaxIdleConns(0) // a connection has the privileges of its beginning
		Eventually(func() error { _, err := db.ExecContext(ctx, "SHOW ENGINE INNODB STATUS"); return err }).
			WithTimeout(shortly).Should(Succeed(), "password and privileges are put right")
		db.SetMaxIdleConns(1)
		Expect(db.PingContext(ctx)).To(Succeed())
		Expect(kube.Delete(ctx, u)).To(Succeed())
		Eventually(func() error { return b.Login(ctx) }).WithTimeout(shortly).
			Should(MatchError(ContainSubstring("Access denied")))
		Eventually(func() error { _, err := db.ExecContext(ctx, "DO 1"); return err }).WithTimeout(shortly).
			ShouldNot(Succeed(), "its connection ends")
	}, SpecTimeout(8*time.Minute))

	It("comes from another namespace when the cluster admits that", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		team := newNamespace(ctx, "team")
		u := userOf(ctx, shop, team, "guest", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"ALL PRIVILEGES"}, Database: "guest"}}
		})
		awaitUser(ctx, u, v1alpha1.ConditionReady, "False NamespaceNotAllowed")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
			s.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": team}}
		})
		DeferCleanup(func(ctx SpecContext) {
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.AllowedNamespaces = nil })
		})
		awaitUser(ctx, u, v1alpha1.ConditionReady, "False GrantNotAllowed")
		d := &v1alpha1.GaleraDatabase{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "guest"},
			Spec: v1alpha1.GaleraDatabaseSpec{ClusterRef: v1alpha1.ClusterReference{Name: shop.Name, Namespace: shop.Namespace},
				DeletionPolicy: v1alpha1.AccountDelete}}
		Expect(kube.Create(ctx, d)).To(Succeed())
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		db, err := bindingOf(ctx, shop, u).Open()
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		_, err = db.ExecContext(ctx, "CREATE TABLE guest.t (id INT PRIMARY KEY)")
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Delete(ctx, d)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(d), &v1alpha1.GaleraDatabase{}))
		}).WithTimeout(shortly).Should(BeTrue())
		// The primary has dropped it; a replica does it when it comes to it.
		Eventually(client(ctx, shop).QueryPod).WithArguments(ctx, podNames(ctx, shop)[0],
			"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'guest'").
			WithTimeout(shortly).Should(Equal("0"), "deletionPolicy: Delete")
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("Users", Label(Slow, Faults), func() {
	It("are all made, though the operator is killed again and again, and cost nothing afterwards", func(ctx SpecContext) {
		const many = 500
		shop := sharedCluster(ctx)
		ours := ctrlclient.MatchingLabels{"many": "users"}
		all := func(ctx context.Context) []v1alpha1.GaleraUser {
			var list v1alpha1.GaleraUserList
			Expect(kube.List(ctx, &list, ctrlclient.InNamespace(shop.Namespace), ours)).To(Succeed())
			return list.Items
		}
		DeferCleanup(func(ctx SpecContext) {
			Expect(kube.DeleteAllOf(ctx, &v1alpha1.GaleraUser{}, ctrlclient.InNamespace(shop.Namespace), ours)).To(Succeed())
			Eventually(all).WithArguments(ctx).WithTimeout(4 * time.Minute).WithPolling(time.Second).Should(BeEmpty())
		})
		count := func(variable string) int {
			out, err := client(ctx, shop).QueryPod(ctx, status(ctx, shop).Primary,
				"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '"+variable+"'")
			Expect(err).NotTo(HaveOccurred())
			n, err := strconv.Atoi(out)
			Expect(err).NotTo(HaveOccurred())
			return n
		}
		start, created := time.Now(), count("COM_CREATE_USER")
		for i := range many {
			u := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: fmt.Sprintf("many-%d", i),
				Labels: ours}}
			u.Spec.ClusterRef.Name = shop.Name
			Expect(kube.Create(ctx, u)).To(Succeed())
			if i%150 == 149 {
				Eventually(kube.Operator().Kill).WithArguments(ctx).WithTimeout(shortly).Should(Succeed())
			}
		}
		Eventually(func() (ready int) {
			for _, u := range all(ctx) {
				if meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionReady) {
					ready++
				}
			}
			return ready
		}).WithTimeout(6 * time.Minute).WithPolling(time.Second).Should(Equal(many))
		progress("%d users Ready after %s, made by %d statements", many, time.Since(start).Round(time.Second),
			count("COM_CREATE_USER")-created)
		for i := 0; i < many; i += 50 {
			Expect(bindingOf(ctx, shop, &all(ctx)[i]).Login(ctx)).To(Succeed())
		}
		before := count("WSREP_LAST_COMMITTED")
		for _, u := range all(ctx) {
			changeUser(ctx, &u, func(u *v1alpha1.GaleraUser) { u.Annotations = map[string]string{"look": "again"} })
		}
		Consistently(func() int { return count("WSREP_LAST_COMMITTED") }).WithTimeout(20*time.Second).
			WithPolling(time.Second).Should(Equal(before), "unchanged users cost no statement")
	}, SpecTimeout(15*time.Minute))

	It("are in a cluster restored from a backup of before them, with the passwords of before", func(ctx SpecContext) {
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		ns := newNamespace(ctx, "accounts")
		makeStore(ctx, objects, ns, identity)
		shop := create(ctx, harness.Build(ns, "shop", harness.Replicas(1)))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		early := userOf(ctx, shop, ns, "early", nil)
		awaitUser(ctx, early, v1alpha1.ConditionReady, "True Ready")
		backup := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "before"},
			Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name},
				StoreRef: v1alpha1.LocalName{Name: "offsite"}}}
		Expect(kube.Create(ctx, backup)).To(Succeed())
		waitBackup(ctx, backup)
		late := userOf(ctx, shop, ns, "late", nil)
		awaitUser(ctx, late, v1alpha1.ConditionReady, "True Ready")
		before := []*harness.Binding{bindingOf(ctx, shop, early), bindingOf(ctx, shop, late)}

		By("deleting the cluster and its volume, and restoring the backup")
		Expect(shop.Delete(ctx)).To(Succeed())
		Expect(shop.Volumes().DeleteClaim(ctx, "shop-0")).To(Succeed())
		again := harness.Build(ns, "shop", harness.Replicas(1))
		again.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Backup: &v1alpha1.LocalName{Name: backup.Name}}
		shop = create(ctx, again)
		Expect(shop.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		for i, u := range []*v1alpha1.GaleraUser{early, late} {
			Eventually(func() error { return bindingOf(ctx, shop, u).Login(ctx) }).WithTimeout(shortly).Should(Succeed(), u.Name)
			Expect(bindingOf(ctx, shop, u).Password()).To(Equal(before[i].Password()), u.Name)
			awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		}
	}, SpecTimeout(12*time.Minute))
})
