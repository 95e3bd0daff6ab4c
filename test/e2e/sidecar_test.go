package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// appScript has four clients that connect anew for each transaction, by the socket of the proxy in their pod.
// Each reports what it has written, and which node has taken it over which cipher.
const appScript = `client() {
  n=0
  while :; do
    n=$((n+1))
    export MYSQL_PWD=$(cat /account/password)
    if answer=$(mariadb --no-defaults --skip-ssl -N -S /run/galera/mysql.sock -u app app -e "START TRANSACTION;
        INSERT INTO written (w, n) VALUES ($1, $n); UPDATE written SET v = v + 1 WHERE w = $1 AND n = $n; COMMIT;
        SELECT @@wsrep_node_name, VARIABLE_VALUE FROM information_schema.SESSION_STATUS
        WHERE VARIABLE_NAME = 'SSL_CIPHER'" 2>&1); then
      echo ok $1 $n $answer $(cksum <<<"$MYSQL_PWD" | cut -d' ' -f1)
    else
      echo failed $1 $n $answer
    fi
  done
}
for w in 1 2 3 4; do client $w & done
wait`

var _ = Describe("A proxy in the pod of an application", Ordered, Label(Slow), func() {
	var c *harness.Cluster
	var pod *corev1.Pod
	var user *v1alpha1.GaleraUser

	BeforeAll(func(ctx SpecContext) {
		if err := harness.LoadForeign(ctx, proxyImage); err != nil {
			Skip(fmt.Sprintf("there is no image %s in Docker: %v", proxyImage, err))
		}
		ns := newNamespace(ctx, "sidecar")
		c = create(ctx, sampleCluster(ns))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "CREATE DATABASE app",
			"CREATE TABLE app.written (w INT, n BIGINT, v INT DEFAULT 0, PRIMARY KEY (w, n))")).To(Succeed())
		user = userOf(ctx, c, ns, "app", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Database: "app", Privileges: []string{"ALL PRIVILEGES"}}}
		})
		awaitUser(ctx, user, v1alpha1.ConditionReady, "True Ready")
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "application"}}
		text := kubectlGalera(ctx, ns, "proxy", "sidecar", "app", "--container", harness.DatabaseContainer)
		Expect(yaml.UnmarshalStrict([]byte(text), &pod.Spec)).To(Succeed(), text)
		restrict(&pod.Spec)
		app := &pod.Spec.Containers[0]
		app.Image, app.Command = image, []string{"bash", "-c", appScript}
		app.SecurityContext = restrictedContainer()
		app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: "galera-account", MountPath: "/account"})
		Expect(kube.Create(ctx, pod)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Delete(ctx, pod)).To(Succeed()) })
		awaitWritten(ctx, c, pod, "the application writes", func(b written) bool { return b.ok > 100 })
	}, NodeTimeout(8*time.Minute))

	It("takes transactions by its socket, and sends them to the primary over TLS", func(ctx SpecContext) {
		b := awaitWritten(ctx, c, pod, "it writes to the primary", func(b written) bool {
			return b.node == status(ctx, c).Primary
		})
		Expect(b.failed).To(BeEmpty())
		Expect(b.cipher).To(ContainSubstring("_"), "the name of a cipher")
	}, SpecTimeout(2*time.Minute))

	It("fails no statement while the primary moves, and in a rolling restart", func(ctx SpecContext) {
		to, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		request(ctx, c, v1alpha1.AnnotationPrimary, to)
		awaitWritten(ctx, c, pod, "it writes to "+to, func(b written) bool { return b.node == to })
		request(ctx, c, v1alpha1.AnnotationRestart, v1alpha1.AllNodes)
		awaitRestarted(ctx, c)
		awaitWritten(ctx, c, pod, "it writes to the primary", func(b written) bool {
			return b.node == status(ctx, c).Primary
		})
		last := awaitWritten(ctx, c, pod, "it writes on", func(written) bool { return true })
		last = awaitWritten(ctx, c, pod, "it writes on", func(b written) bool { return b.ok > last.ok+100 })
		progress("%d transactions, %d failed: %v", last.ok, len(last.failed), last.failed)
		Expect(last.failed).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("goes on with a new password, without a restart", func(ctx SpecContext) {
		before := awaitWritten(ctx, c, pod, "it writes", func(b written) bool { return b.ok > 0 })
		changeUser(ctx, user, func(u *v1alpha1.GaleraUser) {
			u.Annotations = map[string]string{v1alpha1.AnnotationRenew: "password@1"}
		})
		after := awaitWritten(ctx, c, pod, "it writes with another password", func(b written) bool {
			return b.password != before.password
		})
		Expect(awaitWritten(ctx, c, pod, "it writes on", func(b written) bool { return b.ok > after.ok+100 }).password).
			To(Equal(after.password))
		Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(pod), pod)).To(Succeed())
		for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			Expect(s.RestartCount).To(BeZero(), s.Name)
		}
	}, SpecTimeout(5*time.Minute))

	It("is restarted when its agent hangs, and the application goes on", func(ctx SpecContext) {
		Expect(c.Pods().Signal(ctx, pod.Name, "agent", syscall.SIGSTOP)).To(Succeed())
		Expect(kube.Until(ctx, "kubelet restarts the sidecar", 4*time.Minute, func(ctx context.Context) (bool, string,
			error) {
			err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(pod), pod)
			for _, s := range pod.Status.InitContainerStatuses {
				if s.RestartCount > 0 && s.Started != nil && *s.Started {
					return s.Name == "galera-proxy", s.Name, err
				}
			}
			return false, "no container was restarted", err
		})).To(Succeed())
		after := awaitWritten(ctx, c, pod, "it writes", func(written) bool { return true })
		awaitWritten(ctx, c, pod, "it writes on", func(b written) bool { return b.ok > after.ok+100 })
	}, SpecTimeout(7*time.Minute))
})

// written is what the application has reported.
type written struct {
	ok                     int
	failed                 []string
	node, cipher, password string
}

// readWritten reads the application's log: a line is "ok W N NODE CIPHER PASSWORD" or "failed W N WHY".
func readWritten(text string) (b written) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 6 && words[0] == "ok":
			b.ok++
			b.node, b.cipher, b.password = words[3], words[4], words[5]
		case len(words) > 0 && words[0] != "ok":
			b.failed = append(b.failed, strings.TrimSpace(line))
		}
	}
	return b
}

// awaitWritten waits until the application has reported what is expected.
func awaitWritten(ctx context.Context, c *harness.Cluster, pod *corev1.Pod, what string, is func(written) bool) (
	b written) {
	GinkgoHelper()
	Expect(kube.Until(ctx, what, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		text, err := c.Pods().Logs(ctx, pod.Name, 0, false)
		b = readWritten(text)
		return err == nil && is(b), fmt.Sprintf("%d written, to %s; failed: %v", b.ok, b.node, b.failed), err
	})).To(Succeed())
	return b
}
