package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// drivers are the programs of images/drivers.
var drivers = map[string][]string{
	"mariadb":    {"bash", "/drivers/mariadb.sh"},
	"pymysql":    {"python3", "/drivers/with_pymysql.py"},
	"sqlalchemy": {"python3", "/drivers/with_sqlalchemy.py"},
	"mariadb-py": {"python3", "/drivers/with_mariadb.py"},
	"mysqli":     {"php", "/drivers/mysqli.php"},
	"mysql2":     {"node", "/drivers/mysql2.js"},
	"mariadb-js": {"node", "/drivers/mariadb.js"},
	"jdbc": {"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
		"/drivers:/usr/share/java/mariadb-java-client.jar", "Jdbc"},
}

var _ = Describe("Drivers connect", Label(Slow), func() {
	for _, require := range []string{v1alpha1.RequireTLS, v1alpha1.RequireX509} {
		It("with what the binding Secret holds, and require: "+require+", before, during and after a rotation",
			func(ctx SpecContext) {
				shop := sharedCluster(ctx)
				Expect(harness.LoadDrivers(ctx)).To(Succeed())
				const d = "drivers"
				cl := client(ctx, shop)
				Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE OR REPLACE DATABASE "+d,
					"CREATE TABLE "+d+".logins (id INT PRIMARY KEY AUTO_INCREMENT, driver VARCHAR(20), cipher VARCHAR(99))")).
					To(Succeed())
				u := userOf(ctx, shop, shop.Namespace, "drivers", func(s *v1alpha1.GaleraUserSpec) {
					s.Require = require
					s.Authentication.Overlap = &metav1.Duration{Duration: 2 * time.Minute} // a mounted Secret is that late
					s.Grants = []v1alpha1.GrantSpec{{Privileges: []string{"ALL"}, Database: d}}
				})
				awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
				pod := driversPod(ctx, shop, u)

				awaitLogins(ctx, shop, pod, d, 2)
				changeUser(ctx, u, func(u *v1alpha1.GaleraUser) {
					u.Annotations = map[string]string{v1alpha1.AnnotationRenew: "password@1"}
				})
				awaitUser(ctx, u, v1alpha1.ConditionPasswordRotated, "False OldPasswordAccepted")
				Eventually(conditionOf(ctx, u, v1alpha1.ConditionPasswordRotated)).WithTimeout(3 * time.Minute).
					Should(Equal("True Rotated"))
				Expect(cl.Exec(ctx, shop.Name+"-primary", "DELETE FROM "+d+".logins")).To(Succeed())
				awaitLogins(ctx, shop, pod, d, 2)
			}, SpecTimeout(12*time.Minute))
	}
})

// driversPod runs all drivers, each in a container that ends when a login fails.
func driversPod(ctx context.Context, c *harness.Cluster, u *v1alpha1.GaleraUser) *corev1.Pod {
	GinkgoHelper()
	const binding = "/bindings/drivers"
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: "drivers-"}}
	restrict(&p.Spec)
	p.Spec.Volumes = []corev1.Volume{
		{Name: "binding", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: u.BindingName()}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	for name, command := range drivers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: name, Image: harness.DriversImage, ImagePullPolicy: corev1.PullNever,
			Command:         append([]string{"/bin/bash", "/drivers/again.sh", name, binding}, command...),
			SecurityContext: restrictedContainer(),
			VolumeMounts: []corev1.VolumeMount{{Name: "binding", MountPath: binding, ReadOnly: true},
				{Name: "tmp", MountPath: "/tmp", SubPath: name}},
		})
	}
	Expect(kube.Create(ctx, p)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(kube.Delete(ctx, p)).To(Succeed()) })
	return p
}

// restrict makes a pod that runs once one of the level "restricted".
func restrict(p *corev1.PodSpec) {
	p.RestartPolicy, p.AutomountServiceAccountToken = corev1.RestartPolicyNever, new(false)
	p.TerminationGracePeriodSeconds = new(int64(0))
	p.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

func restrictedContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// awaitLogins waits until each driver has logged in so often, over TLS, and wants none to have failed.
func awaitLogins(ctx context.Context, c *harness.Cluster, pod *corev1.Pod, database string, most int) {
	GinkgoHelper()
	cl := client(ctx, c)
	failed := ""
	Expect(kube.Until(ctx, "logins of all drivers", 4*time.Minute, func(ctx context.Context) (bool, string, error) {
		if err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(pod), pod); err != nil {
			return false, "", err
		}
		for _, s := range pod.Status.ContainerStatuses {
			if t := s.State.Terminated; t != nil {
				failed = s.Name + ": " + t.Message
				return true, failed, nil
			}
		}
		enough, err := cl.QueryPod(ctx, podNames(ctx, c)[0], fmt.Sprintf(
			"SELECT CONCAT(COUNT(*), ' of %d') FROM (SELECT driver FROM %s.logins WHERE cipher <> '' GROUP BY driver HAVING "+
				"COUNT(*) >= %d) AS d", len(drivers), database, most))
		return enough == fmt.Sprintf("%d of %d", len(drivers), len(drivers)), enough, err
	})).To(Succeed())
	Expect(failed).To(BeEmpty())
}
