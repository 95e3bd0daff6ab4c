package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// saturationTime is how long each of the two clusters is saturated; GALERA_E2E_SATURATION is another duration.
func saturationTime() time.Duration {
	GinkgoHelper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("GALERA_E2E_SATURATION"), "5m"))
	Expect(err).NotTo(HaveOccurred())
	return d
}

// halveWorkers gives each host of databases half of the processors while a spec runs: two hosts that use more keep the
// third one from running (docs/design/busy-hosts.md).
func halveWorkers(ctx context.Context) {
	GinkgoHelper()
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, w := range workers {
		before, err := kube.Hosts().Limit(ctx, w, float64(runtime.NumCPU())/2)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := kube.Hosts().Limit(ctx, w, before)
			Expect(err).NotTo(HaveOccurred())
		})
	}
}

// Clients and servers share hosts, and use all of them that there is.
var _ = Describe("Saturation from inside Kubernetes", Label(Slow, Faults), func() {
	for name, options := range map[string][]harness.Option{
		"with TLS":    nil,
		"without TLS": {harness.WithoutTLS()},
	} {
		It("by reads and writes changes no view, "+name, func(ctx SpecContext) {
			halveWorkers(ctx)
			shop := create(ctx, harness.Build(newNamespace(ctx, "busy"), "shop", options...))
			Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
			Expect(client(ctx, shop).Exec(ctx, "shop-primary", "CREATE DATABASE busy")).To(Succeed())
			u := userOf(ctx, shop, shop.Namespace, "busy", func(s *v1alpha1.GaleraUserSpec) {
				s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"ALL"}, Database: "busy"}}
				s.Require = v1alpha1.RequireX509
				if options != nil {
					s.Require = v1alpha1.RequireNone
				}
			})
			awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
			primary, err := shop.Primary(ctx)
			Expect(err).NotTo(HaveOccurred())
			replica, err := shop.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			done := awaitEnd(ctx, sysbenchPod(ctx, shop, u, primary, "oltp_read_write", "prepare", 0), shortly)
			Expect(done).To(ContainSubstring("Creating a secondary index"))
			before := views(ctx, shop)

			length := saturationTime()
			progress("saturating for %s; the view is %v", length, before)
			reads := sysbenchPod(ctx, shop, u, replica, "oltp_read_only", "run", length)
			writes := sysbenchPod(ctx, shop, u, primary, "oltp_read_write", "run", length)
			for _, p := range []*corev1.Pod{reads, writes} {
				said := awaitEnd(ctx, p, length+2*shortly)
				done := regexp.MustCompile(`transactions: +(\d+) +\(.*\)`).FindString(said)
				progress("%s: %s", p.Labels["load"], done)
				Expect(done).NotTo(BeEmpty(), said)
			}
			Expect(views(ctx, shop)).To(Equal(before), "a node left or joined")
			Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
		}, SpecTimeout(45*time.Minute))
	}
})

// views are the numbers of the nodes' views: each change of the membership has a number of its own.
func views(ctx context.Context, c *harness.Cluster) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	cl := client(ctx, c)
	for _, pod := range podNames(ctx, c) {
		eventually(ctx, func(o Gomega) { // a busy node may answer late
			view, err := cl.QueryPod(ctx, pod, "SELECT variable_value FROM information_schema.global_status "+
				"WHERE variable_name = 'wsrep_cluster_conf_id'")
			o.Expect(err).NotTo(HaveOccurred())
			out[pod] = view
		})
	}
	return out
}

// sysbenchPod runs sysbench against one node, on the host of that node.
func sysbenchPod(ctx context.Context, c *harness.Cluster, u *v1alpha1.GaleraUser, node, script, action string,
	length time.Duration) *corev1.Pod {
	GinkgoHelper()
	host, err := c.Pods().NodeOf(ctx, node)
	Expect(err).NotTo(HaveOccurred())
	tls := "off"
	if u.Spec.Require == v1alpha1.RequireX509 {
		tls = "on"
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: "load-",
		Labels: map[string]string{"load": script}}}
	restrict(&p.Spec)
	p.Spec.NodeName = host
	p.Spec.Volumes = []corev1.Volume{{Name: "binding",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: u.BindingName()}}}}
	p.Spec.Containers = []corev1.Container{{Name: "sysbench", Image: "galera-sysbench:1.0",
		ImagePullPolicy: corev1.PullNever, WorkingDir: "/tmp",
		SecurityContext: restrictedContainer(),
		// sysbench reads certificates from fixed names; a password has no place in a command line.
		Command: []string{"sh", "-euc", fmt.Sprintf(`
			if [ %[1]s = on ]; then
				cp /binding/ca.crt cacert.pem; cp /binding/tls.crt client-cert.pem; cp /binding/tls.key client-key.pem
			fi
			printf 'mysql-password=%%s\n' "$(cat /binding/password)" >sysbench.conf
			exec sysbench --config-file=sysbench.conf %[2]s --db-driver=mysql --mysql-user=%[3]s --mysql-db=busy \
				--mysql-host=%[4]s.%[5]s-nodes --mysql-ssl=%[1]s --mysql-ignore-errors=1213,1020,1205,1180 \
				--tables=4 --table-size=10000 --threads=8 --report-interval=10 --time=%[6]d %[7]s`,
			tls, script, u.AccountName(), node, c.Name, int(length.Seconds()), action)},
		VolumeMounts: []corev1.VolumeMount{{Name: "binding", MountPath: "/binding", ReadOnly: true}}}}
	Expect(kube.Create(ctx, p)).To(Succeed())
	return p
}

// awaitEnd waits until a pod has succeeded, and returns what it printed.
func awaitEnd(ctx context.Context, p *corev1.Pod, limit time.Duration) string {
	GinkgoHelper()
	Eventually(func() (corev1.PodPhase, error) {
		err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(p), p)
		return p.Status.Phase, err
	}).WithContext(ctx).WithTimeout(limit).WithPolling(time.Second).
		Should(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	log, err := kube.Clientset.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(p.Status.Phase).To(Equal(corev1.PodSucceeded), "%s", log)
	return string(log)
}
