package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A move from another server", Ordered, Label(Slow, Faults), func() {
	var ns, back string
	var old *harness.ForeignServer
	var c *harness.Cluster
	app, k := &application{}, drawKills()

	theSource := func() victim { return victim{"the source", func(ctx context.Context) error { return old.Kill(ctx) }} }
	parts := func() []victim { return []victim{theOperator(), theAgent(c), theNode(c), theSource()} }
	highest := func(ctx context.Context, pod string) (string, error) {
		return client(ctx, c).QueryPod(ctx, pod, "SELECT COALESCE(MAX(id), 0) FROM shop.t")
	}
	// goes waits until the application writes more rows, and all that it has written are where they are to be.
	goes := func(ctx SpecContext, places ...string) {
		GinkgoHelper()
		want := app.written() + 20
		Expect(kube.Until(ctx, "the application", recoverTime, func(context.Context) (bool, string, error) {
			return app.written() >= want, "", nil
		})).To(Succeed())
		want = app.written()
		for _, place := range places {
			Expect(kube.Until(ctx, fmt.Sprintf("row %d at %s", want, place), recoverTime,
				func(ctx context.Context) (bool, string, error) {
					var has string
					var err error
					if place == old.Name {
						err = old.DB.QueryRowContext(ctx, "SELECT MAX(id) FROM shop.t").Scan(&has)
					} else {
						has, err = highest(ctx, place)
					}
					if err != nil {
						return false, "", err
					}
					n, err := strconv.Atoi(has)
					return n >= want, "", err
				})).To(Succeed())
		}
	}

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "kills")
		old = followingSource(ctx, ns)
		Expect(old.Exec(ctx, "CREATE TABLE shop.bulk (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO shop.bulk SELECT seq, SHA1(seq) FROM shop.seq_1_to_200000")).To(Succeed())
		app.writeTo(old)
	}, NodeTimeout(5*time.Minute))

	It("copies through a kill, and begins to follow through another one", func(ctx SpecContext) {
		c = create(ctx, copyOf(old, ns, true))
		k.at(ctx, "copying", copies(c), theOperator(), theCopier(c), theSource())
		k.at(ctx, "the channel starts", shows(c, func(c *v1alpha1.GaleraCluster) bool {
			return c.Status.Replication != nil && c.Status.Replication.Node != ""
		}), parts()...)
		Expect(c.WaitReady(ctx, 6*time.Minute)).To(Succeed())
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
			2*time.Minute)).To(Succeed())
		goes(ctx, podNames(ctx, c)...)
	}, SpecTimeout(9*time.Minute))

	It("follows through a kill", func(ctx SpecContext) {
		k.at(ctx, "following", atOnce, parts()...)
		goes(ctx, podNames(ctx, c)...)
		Expect(c.WaitReady(ctx, recoverTime)).To(Succeed())
		app.writeAlsoTo(ctx, c)
	}, SpecTimeout(6*time.Minute))

	It("is compared, and cut over, through kills", func(ctx SpecContext) {
		back = fmt.Sprintf("%s-primary.%s.svc", c.Name, ns)
		Expect(old.Keep(ctx, "readonly", "--read-only")).To(Succeed())
		began := time.Now()
		done := again(ctx, ns, "cutover", c.Name, "--back", "--back-host="+back)
		k.at(ctx, "comparing", shows(c, func(c *v1alpha1.GaleraCluster) bool {
			return c.Status.Replication != nil && c.Status.Replication.Held != ""
		}), parts()...)
		k.at(ctx, "cutting over", shows(c, func(c *v1alpha1.GaleraCluster) bool { return c.Spec.Cutover != nil }), parts()...)
		Eventually(done).WithContext(ctx).WithTimeout(6 * time.Minute).Should(BeClosed())
		Expect(kube.Until(ctx, "the application with the cluster", time.Minute,
			func(context.Context) (bool, string, error) { return app.moved() >= 50, "", nil })).To(Succeed())
		progress("the application wrote nothing for %s at most", app.longest(began).Round(10*time.Millisecond))
		Expect(status(ctx, c).Replication.Role).To(Equal(v1alpha1.RoleIndependent))
	}, SpecTimeout(9*time.Minute))

	It("goes on through a kill, and so does its old server, with every acknowledged row once", func(ctx SpecContext) {
		k.at(ctx, "cut over", atOnce, parts()...)
		goes(ctx, podNames(ctx, c)...)
		Expect(c.WaitReady(ctx, recoverTime)).To(Succeed())

		By("having the old server follow")
		Expect(kube.Until(ctx, "the old server", recoverTime, func(ctx context.Context) (bool, string, error) {
			err := old.DB.PingContext(ctx)
			return err == nil, "", err
		})).To(Succeed())
		for name, option := range map[string]string{"strict": "--gtid-strict-mode=ON",
			"ignored": "--replicate-wild-ignore-table=mysql.%"} {
			Expect(old.Keep(ctx, name, option)).To(Succeed())
		}
		u := userOf(ctx, c, ns, c.Name+"-back", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"REPLICATION SLAVE"}}}
		})
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		b := bindingOf(ctx, c, u)
		Expect(old.Exec(ctx, "SELECT '"+string(b.Data["ca.crt"])+"' INTO DUMPFILE '/data/ca.crt'")).To(Succeed())
		for line := range strings.Lines(kubectlGalera(ctx, ns, "cutover", c.Name, "--back", "--back-host="+back)) {
			for _, first := range []string{"SET GLOBAL ", "CHANGE MASTER ", "START SLAVE"} {
				if strings.HasPrefix(line, first) {
					Expect(old.Exec(ctx, strings.NewReplacer("'PASSWORD'", "'"+b.Password()+"'",
						"/etc/mysql/"+c.Name+"-ca.crt", "/data/ca.crt").Replace(line))).To(Succeed())
				}
			}
		}
		goes(ctx, old.Name)
		k.at(ctx, "going back", atOnce, parts()...)
		goes(ctx, append(podNames(ctx, c), old.Name)...)
		Expect(c.WaitReady(ctx, recoverTime)).To(Succeed())

		By("comparing every row that was acknowledged")
		app.stop()
		want := fmt.Sprintf("%[1]d %[1]d %[1]d", app.written())
		const counted = "SELECT CONCAT(COUNT(*), ' ', MAX(id), ' ', (SELECT n FROM shop.counter)) FROM shop.t"
		const summed = "SELECT CONCAT((SELECT BIT_XOR(CRC32(CONCAT(id, v))) FROM shop.t), ' ', COUNT(*), ' ', " +
			"BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.bulk"
		eventually(ctx, func(o Gomega) {
			var has string
			o.Expect(old.DB.QueryRowContext(ctx, counted).Scan(&has)).To(Succeed())
			o.Expect(has).To(Equal(want))
		})
		var sum string
		Expect(old.DB.QueryRowContext(ctx, summed).Scan(&sum)).To(Succeed())
		for _, pod := range podNames(ctx, c) {
			for query, is := range map[string]string{counted: want, summed: sum} {
				Expect(client(ctx, c).QueryPod(ctx, pod, "SET STATEMENT wsrep_sync_wait = 1 FOR "+query)).To(Equal(is), pod)
			}
		}
	}, SpecTimeout(9*time.Minute))
})
