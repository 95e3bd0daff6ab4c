package harness

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ForeignServer is a MariaDB server that no GaleraCluster describes.
type ForeignServer struct {
	Kube            *Kube
	Namespace, Name string
	// Host is its address.
	Host string
	DB   *sql.DB
}

// StartForeignServer runs one of an image in a namespace, with a binary log. root has no password, from anywhere.
func StartForeignServer(ctx context.Context, k *Kube, namespace, image string) (*ForeignServer, error) {
	s := &ForeignServer{Kube: k, Namespace: namespace, Name: "old-server"}
	script := "first=; if [ ! -d /data/db ]; then mkdir /data/options && " +
		"mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/data/db >/dev/null && printf '%s\\n' \"CREATE USER root@'%';\" " +
		"\"GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\" >/data/init.sql && first=--init-file=/data/init.sql; fi && " +
		"exec mariadbd --no-defaults --datadir=/data/db --socket=/data/s --pid-file=/data/pid " +
		"--log-bin --server-id=7 --gtid-domain-id=3 $first $(cat /data/options/* 2>/dev/null)"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.Name},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(999)), FSGroup: new(int64(999)),
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "mariadb", Image: image, Command: []string{"sh", "-c", script},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				Ports: []corev1.ContainerPort{{ContainerPort: 3306}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
					Exec: &corev1.ExecAction{Command: []string{"mariadb", "-uroot", "--socket=/data/s", "-e", "SELECT 1"}}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "tmp", MountPath: "/tmp"}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	if err := k.Create(ctx, pod); err != nil {
		return nil, err
	}
	err := k.Until(ctx, "the other server", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		if err := k.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, "", err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return true, "", nil
			}
		}
		return false, string(pod.Status.Phase), nil
	})
	if err != nil {
		return nil, err
	}
	s.Host = pod.Status.PodIP
	s.DB, err = s.As("root", "")
	return s, err
}

// As returns connections as an account.
func (s *ForeignServer) As(user, password string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, "tcp", net.JoinHostPort(s.Host, databasePort)
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxIdleConns(-1) // minutes pass between statements, and hosts fail
	return db, nil
}

// Exec runs statements there.
func (s *ForeignServer) Exec(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := s.DB.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", firstLine(text), err)
		}
	}
	return nil
}

// Keep has the server start with an option from now on, as an option file does. Names are used once.
func (s *ForeignServer) Keep(ctx context.Context, name, option string) error {
	return s.Exec(ctx, fmt.Sprintf("SELECT '%s' INTO OUTFILE '/data/options/%s'", option, name))
}

// Kill sends SIGKILL to the server. It starts again by itself, with its data.
func (s *ForeignServer) Kill(ctx context.Context) error {
	pod := &corev1.Pod{}
	if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, pod); err != nil {
		return err
	}
	n, err := killInPod(pod, serverProgram, syscall.SIGKILL)
	if err == nil && n == 0 {
		err = fmt.Errorf("no %s runs in %s", serverProgram, s.Name)
	}
	return err
}

// BackUp returns what mariadb-backup streams of the server.
func (s *ForeignServer) BackUp(ctx context.Context) ([]byte, error) {
	out, err := run(ctx, "", "kubectl", "--context", s.Kube.Context, "exec", "-n", s.Namespace, s.Name, "--",
		"mariadb-backup", "--no-defaults", "--backup", "--stream=mbstream", "--user=root", "--socket=/data/s",
		"--datadir=/data/db")
	return []byte(out), err
}

// Dump has a pod write a dump of a database to a file of a claim.
func (s *ForeignServer) Dump(ctx context.Context, database, claim, file string) error {
	server := &corev1.Pod{}
	if err := s.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, server); err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "dump-" + database},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, SecurityContext: server.Spec.SecurityContext,
			Containers: []corev1.Container{{Name: "dump", Image: server.Spec.Containers[0].Image,
				SecurityContext: server.Spec.Containers[0].SecurityContext,
				Command: []string{"sh", "-c", fmt.Sprintf("mariadb-dump --no-defaults --host=%s --user=root --skip-ssl "+
					"--single-transaction --routines --triggers --skip-add-locks %s > /dumps/%s", s.Host, database, file)},
				VolumeMounts: []corev1.VolumeMount{{Name: "dumps", MountPath: "/dumps"}}}},
			Volumes: []corev1.Volume{{Name: "dumps", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
		},
	}
	if err := s.Kube.Create(ctx, pod); err != nil {
		return err
	}
	return s.Kube.Until(ctx, "the dump", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := s.Kube.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if err == nil && pod.Status.Phase == corev1.PodFailed {
			err = fmt.Errorf("the pod %s has failed", pod.Name)
		}
		return pod.Status.Phase == corev1.PodSucceeded, string(pod.Status.Phase), err
	})
}
