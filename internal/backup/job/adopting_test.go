package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestAdoptingJobs: the store's credentials are in containers of the operator's image only. Those of the server that is
// followed, which the database pods have as well, are in the one that asks it.
func TestAdoptingJobs(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "old-backups", Namespace: "demo"}}
	s.Spec.S3 = &v1alpha1.S3Store{Bucket: "backups", Credentials: &v1alpha1.S3Credentials{SecretName: "s3",
		AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("c", 40), Namespace: "demo",
		UID: "u1"}}
	c.Spec.Storage.Size = resource.MustParse("10Gi")
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Method: v1alpha1.MethodBackup,
		RateLimit: new(resource.MustParse("2Mi")),
		Backup:    &v1alpha1.ExternalBackup{StoreRef: v1alpha1.LocalName{Name: "old-backups"}, Path: "old/full.xb.zst"}}}
	c.Status.Restore = &v1alpha1.RestoreStatus{Attempts: 999, ID: "external-1", History: "new",
		External: &v1alpha1.ExternalStatus{GTID: "0-1-9"}}
	ro, o := resources.Options{DefaultImage: "mariadb"}, Options{Image: "operator"}
	for _, follow := range []bool{false, true} {
		if x := c.Spec.BootstrapFrom.External; follow {
			x.Host, x.Port, x.Follow, x.CredentialsSecretRef.Name = "db", 3306, true, "old"
			x.TLS = &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "ca"}}
		}
		inspect, err := InspectBackup(c, s, ro, o)
		if err != nil {
			t.Fatal(err)
		}
		filling, err := ImportBackup(c, s, ro, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []*batchv1.Job{inspect, filling} {
			p := j.Spec.Template.Spec
			if len(j.Name) > 63 || *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot ||
				j.Spec.Template.Annotations[annotationSkipAWS] != Container {
				t.Errorf("%s: %+v", j.Name, p)
			}
			main, own := p.Containers[0], p.InitContainers
			if main.Image != "mariadb" || len(own) != 2 || own[0].Image != "operator" || own[1].Image != "operator" {
				t.Errorf("%s: %+v", j.Name, p)
			}
			mounted := func(of corev1.Container) (secrets []string) {
				for _, m := range of.VolumeMounts {
					if slices.Contains([]string{volumeStore, volumeSource, volumeSourceCA}, m.Name) {
						secrets = append(secrets, m.Name)
					}
				}
				return secrets
			}
			want := []string{volumeSource, volumeSourceCA}
			if !follow {
				want = nil
			}
			if got := mounted(main); !slices.Equal(got, want) {
				t.Errorf("%s, follow %t: the image of the cluster is given %v", j.Name, follow, got)
			}
			for _, of := range own {
				if got := mounted(of); !slices.Equal(got, []string{volumeStore}) {
					t.Errorf("%s/%s is given %v", j.Name, of.Name, got)
				}
			}
			var asked, read task.Task
			if err := json.Unmarshal([]byte(main.Env[0].Value), &asked); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(own[1].Env[0].Value), &read); err != nil {
				t.Fatal(err)
			}
			if asked.Store.Bucket != "" || read.Store.Bucket != "backups" {
				t.Errorf("%s: the stores are %+v and %+v", j.Name, asked.Store, read.Store)
			}
			x := asked.Inspect
			if j == filling {
				if x = asked.Import; x.ID != "external-1" || x.History != "new" || (x.Live == "0-1-9") != follow {
					t.Errorf("%+v", x)
				}
			}
			if x.Backup != "old/full.xb.zst" || x.Rate != 2<<20 || x.Follow != follow || (x.ServerID != 0) != follow {
				t.Errorf("%s: %+v", j.Name, x)
			}
		}
		if got := filling.Spec.Template.Spec.Volumes; !slices.ContainsFunc(got, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == resources.ClaimName(c, 0)
		}) {
			t.Errorf("it fills no volume: %+v", got)
		}
	}
}
