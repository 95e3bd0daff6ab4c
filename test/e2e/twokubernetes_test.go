package e2e

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// twoSites are two Kubernetes with an operator each, and with names and addresses of their own: the cluster first is in
// the one of all specs, with the store, and second in the other one.
type twoSites struct {
	first, second *harness.Cluster
	objects       *harness.ObjectStore
	other         *harness.Kube
	// ns is that of second.
	ns string
}

var _ = Describe("A second site in another Kubernetes", Ordered, Label(Slow, Faults), func() {
	var s twoSites

	BeforeAll(func(ctx SpecContext) {
		s.startOther(ctx)
		s.first, s.objects = archivedCluster(ctx, func(c *v1alpha1.GaleraClusterSpec) { c.Replicas = 1 })
		s.publish(ctx)
		Expect(client(ctx, s.first).Exec(ctx, s.first.Name+"-primary", "CREATE DATABASE sites",
			"CREATE TABLE sites.t (id INT PRIMARY KEY)")).To(Succeed())
		makeApp(ctx, s.first)
	}, NodeTimeout(14*time.Minute))

	JustAfterEach(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() && s.ns != "" {
			s.other.Dump(ctx, s.ns, GinkgoWriter)
		}
	}, NodeTimeout(2*time.Minute))

	It("follows the archive and a stream, row by row", func(ctx SpecContext) {
		start := time.Now()
		w := startWriter(ctx, s.first, harness.WriterOptions{Interval: 50 * time.Millisecond})
		var err error
		s.second, err = s.other.CreateCluster(ctx, s.standby(ctx))
		Expect(err).NotTo(HaveOccurred())
		follows(ctx, s.second)
		makeApp(ctx, s.second)
		s.streams(ctx, true)
		stopAndCheck(ctx, w, start)
		s.caughtUp(ctx)
	}, SpecTimeout(9*time.Minute))

	It("reports what it lacks while nothing comes from there, and catches up", func(ctx SpecContext) {
		start := time.Now()
		w := startWriter(ctx, s.first, harness.WriterOptions{Interval: 50 * time.Millisecond})
		s.cut(ctx)
		s.streams(ctx, false)
		Eventually(func(g Gomega) {
			r := status(ctx, s.second).Replication
			g.Expect(r.Archive).NotTo(BeNil())
			g.Expect(r.Archive.Message).NotTo(BeEmpty(), "%+v", r.Archive)
			g.Expect(time.Since(r.Archive.Through.Time)).To(BeNumerically(">", 30*time.Second), "%+v", r.Archive)
		}).WithContext(ctx).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		progress("cut off: %+v, %+v", *status(ctx, s.second).Replication.Archive, *status(ctx, s.second).Replication.Stream)
		Expect(w.WaitForMore(ctx, 20, time.Minute)).To(Succeed())
		stopAndCheck(ctx, w, start)
		Expect(sequence(status(ctx, s.second).Replication.Applied)).
			To(BeNumerically("<", sequence(position(ctx, s.first, s.first.Name+"-0"))))

		By("healing the network")
		Expect(s.other.Network().Heal(ctx)).To(Succeed())
		s.streams(ctx, true)
		s.caughtUp(ctx)
	}, SpecTimeout(9*time.Minute))

	It("takes over without loss, and is followed the other way round", func(ctx SpecContext) {
		w := writeAtSites(ctx, s.first, s.second)
		w.acknowledges(ctx, 20)
		progress("%s", kubectlGalera(ctx, s.first.Namespace, "switch-site", s.first.Name, "--to", s.second.Name,
			"--to-namespace", s.ns, "--to-kubeconfig", s.other.File, "--rejoin", "--identity-secret", "identity"))
		w.acknowledges(ctx, 20)
		sum := w.end()
		Expect(sum.other).To(BeNumerically(">", 0), "writes at the second site")
		progress("longest interval without an acknowledged write: %s", sum.gap.Round(time.Millisecond))
		AddReportEntry("gap of a planned change of sites", sum.gap.Round(time.Millisecond).String())
		hasAll(ctx, s.second, sum.acknowledged)
		rejoined(ctx, s.first, s.second)
		w = writeAtSites(ctx, s.second, s.first)
		w.acknowledges(ctx, 20)
		Expect(w.end().other).To(BeZero(), "writes at the first site")
		sameRows(ctx, s.second, s.first)
	}, SpecTimeout(9*time.Minute))

	It("is taken over from while it is cut off, and accepts no writes once it is back", func(ctx SpecContext) {
		before := s.archivedRows(ctx)
		s.cut(ctx)
		w := writeAtSites(ctx, s.second, s.first)
		w.acknowledges(ctx, 5)
		lost := w.end()
		Expect(lost.other).To(BeZero(), "writes at the first site")
		progress("%s", kubectlGalera(ctx, s.first.Namespace, "cutover", s.first.Name, "--accept-loss"))
		Expect(status(ctx, s.first).Replication.Role).To(Equal(v1alpha1.RoleIndependent))
		hasAll(ctx, s.first, before)
		taker, err := s.first.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		record := taker.Status.Replication.Promotion
		Expect(record).NotTo(BeNil())

		By("writing to both, as neither knows of the other one")
		app := func(c *harness.Cluster, id int) error {
			_, err := client(ctx, c).As("app", nil).WithPassword("app").QueryPod(ctx, c.Name+"-0",
				"INSERT INTO sites.t VALUES ("+strconv.Itoa(id)+") RETURNING id")
			return err
		}
		Expect(app(s.second, -1)).To(Succeed())
		Expect(app(s.first, -2)).To(Succeed())

		By("healing the network")
		Expect(s.other.Network().Heal(ctx)).To(Succeed())
		Eventually(func(g Gomega) {
			by := status(ctx, s.second).Superseded
			g.Expect(by).NotTo(BeNil())
			g.Expect(by.ID).To(Equal(record.ID))
			g.Expect(by.UID).To(Equal(string(taker.UID)))
			g.Expect(by.Surplus).To(HaveValue(BeNumerically(">=", len(lost.acknowledged)+1)), "%+v", by)
		}).WithContext(ctx).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		Expect(s.second.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSuperseded,
			time.Minute)).To(Succeed())
		Expect(app(s.second, -3)).To(MatchError(ContainSubstring("read-only")))
		Expect(app(s.first, -4)).To(Succeed())
		progress("%+v", *status(ctx, s.second).Superseded)
	}, SpecTimeout(9*time.Minute))
})

// startOther makes the second Kubernetes, which is removed in the end.
func (s *twoSites) startOther(ctx SpecContext) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		if os.Getenv("GALERA_E2E_KEEP") == "" {
			Expect(harness.StopSecond(ctx)).To(Succeed())
		}
	}, NodeTimeout(3*time.Minute))
	began := time.Now()
	var err error
	s.other, err = harness.StartSecond(ctx, progress)
	Expect(err).NotTo(HaveOccurred())
	Expect(s.other.Network().Heal(ctx)).To(Succeed())
	Expect(s.other.Namespaces().DeleteLeftovers(ctx)).To(Succeed())
	progress("the second Kubernetes is there after %s", time.Since(began).Round(time.Second))
	watching, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	watched, err := harness.WatchSecrets(watching, s.other)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		if s.ns == "" {
			return
		}
		expectSpecsUntouchedIn(ctx, s.other, s.ns)
		for _, ns := range []string{s.ns, harness.OperatorNamespace} {
			Expect(watched.InLogs(ctx, ns)).To(BeEmpty(), "secrets in logs of "+ns)
		}
	}, NodeTimeout(time.Minute))
}

// publish makes the names of the first site known at the second one, and there what a cluster needs to follow: the
// store, an account and CAs.
func (s *twoSites) publish(ctx SpecContext) {
	GinkgoHelper()
	primary := &corev1.Service{}
	Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: s.first.Namespace, Name: s.first.Name + "-primary"}, primary)).
		To(Succeed())
	Expect(s.other.Publish(ctx, s.objects.Namespace, "s3", s.objects.PodIP(), harness.StorePort)).To(Succeed())
	Expect(s.other.Publish(ctx, s.first.Namespace, primary.Name, primary.Spec.ClusterIP, 3306)).To(Succeed())
	var err error
	s.ns, err = s.other.Namespaces().Create(ctx, "site")
	Expect(err).NotTo(HaveOccurred())
	makeStoreIn(ctx, s.other, s.objects.From(s.other), s.ns, identityOf(ctx, s.first))

	u := userOf(ctx, s.first, s.first.Namespace, "second-site", func(u *v1alpha1.GaleraUserSpec) {
		u.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"REPLICATION SLAVE"}}}
	})
	awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
	b := bindingOf(ctx, s.first, u)
	for name, keys := range map[string][]string{"stream": {"username", "password"}, "stream-ca": {"ca.crt"}} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}, Data: map[string][]byte{}}
		for _, key := range keys {
			secret.Data[key] = b.Data[key]
		}
		Expect(s.other.Create(ctx, secret)).To(Succeed())
	}
}

// makeApp makes the application's account at a site, where the seed may have it: accounts are not followed.
func makeApp(ctx SpecContext, c *harness.Cluster) {
	GinkgoHelper()
	Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'app'",
		"GRANT ALL ON sites.* TO app")).To(Succeed())
}

// endpoint is what is streamed from.
func (s *twoSites) endpoint() string {
	return s.first.Name + "-primary." + s.first.Namespace + ".svc:3306"
}

// standby is the cluster that follows.
func (s *twoSites) standby(ctx SpecContext) *v1alpha1.GaleraCluster {
	GinkgoHelper()
	c := standbyOf(ctx, s.first, s.ns)
	c.Spec.Replicas = 1
	r := c.Spec.ReplicaOf
	r.Endpoints, r.CredentialsSecretRef = []string{s.endpoint()}, &v1alpha1.LocalName{Name: "stream"}
	r.TLS = &v1alpha1.EndpointTLS{CASecretRef: v1alpha1.LocalName{Name: "stream-ca"}}
	return c
}

// cut has nothing pass between the two Kubernetes, until the spec ends.
func (s *twoSites) cut(ctx SpecContext) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { Expect(s.other.Network().Heal(ctx)).To(Succeed()) })
	Expect(s.other.Network().CutOff(ctx, kube)).To(Succeed())
}

// streams waits until there is a stream, or none.
func (s *twoSites) streams(ctx SpecContext, want bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		r := status(ctx, s.second).Replication
		g.Expect(r).NotTo(BeNil())
		g.Expect(r.Stream).NotTo(BeNil())
		g.Expect(r.Stream.Endpoint).To(Equal(s.endpoint()))
		g.Expect(r.Stream.Connected).To(Equal(want), "%+v", r.Stream)
		if want {
			g.Expect(r.Stream.Error).To(BeEmpty(), "%+v", r.Stream)
		} else {
			g.Expect(r.Stream.Error).NotTo(BeEmpty(), "%+v", r.Stream)
		}
	}).WithContext(ctx).WithTimeout(4 * time.Minute).WithPolling(time.Second).Should(Succeed())
}

// caughtUp waits until the second site has, and the archive too, what the first one has now, and compares the rows.
func (s *twoSites) caughtUp(ctx SpecContext) {
	GinkgoHelper()
	last := position(ctx, s.first, s.first.Name+"-0")
	written, err := s.first.Data().Written(ctx, s.first.Name+"-0")
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) {
		r := status(ctx, s.second).Replication
		g.Expect(r.Applied).To(Equal(last), "%+v", r)
		g.Expect(r.Archive).To(HaveField("GTID", last))
		g.Expect(r.Archive.Message).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Succeed())
	Expect(s.second.Data().Written(ctx, s.second.Name+"-0")).To(Equal(written))
	progress("%s: %s", last, written)
}

// archivedRows are those of the second site, once its archive has all, and the first site, too.
func (s *twoSites) archivedRows(ctx SpecContext) []int {
	GinkgoHelper()
	sameRows(ctx, s.second, s.first)
	last := position(ctx, s.second, s.second.Name+"-0")
	eventually(ctx, func(o Gomega) { o.Expect(status(ctx, s.second).Backup.ArchivedGTID).To(Equal(last)) })
	return rowsOf(ctx, s.second)
}

// rowsOf are the rows of a writer at sites.
func rowsOf(ctx SpecContext, c *harness.Cluster) (ids []int) {
	GinkgoHelper()
	out, err := client(ctx, c).QueryPod(ctx, c.Name+"-0", "SELECT GROUP_CONCAT(id ORDER BY id) FROM sites.t")
	Expect(err).NotTo(HaveOccurred())
	for _, text := range strings.Split(out, ",") {
		id, err := strconv.Atoi(text)
		Expect(err).NotTo(HaveOccurred())
		ids = append(ids, id)
	}
	return ids
}

// hasAll reports which of the rows a cluster lacks.
func hasAll(ctx SpecContext, c *harness.Cluster, ids []int) {
	GinkgoHelper()
	has := rowsOf(ctx, c)
	lacks := slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(has, id) })
	Expect(lacks).To(BeEmpty(), "acknowledged rows that %s lacks", c.Name)
}
