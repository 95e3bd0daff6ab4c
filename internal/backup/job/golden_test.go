package job

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden shows in a review what a change of code does to every object: what a Job is given, what it mounts, and
// what it may do.
func TestGolden(t *testing.T) {
	amazon := &v1alpha1.S3Store{Bucket: "backups", Prefix: "shops", Endpoint: "https://s3.example.org", Region: "eu",
		ForcePathStyle: true, StorageClass: "STANDARD_IA", Tags: map[string]string{"team": "db"},
		ServerSideEncryption: &v1alpha1.S3Encryption{Type: v1alpha1.EncryptionSSEKMS, KMSKeyID: "k1"},
		CABundle:             &v1alpha1.CABundle{SecretName: "s3-ca", Key: "root.crt"},
		Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "id", SecretAccessKeyKey: "secret",
			SessionTokenKey: "token"}}
	google := &v1alpha1.GCSStore{Bucket: "b", Prefix: "p", Endpoint: "https://gcs.example.org",
		Credentials: &v1alpha1.GCSCredentials{SecretName: "gcs", JSONKey: "key"},
		CABundle:    &v1alpha1.CABundle{ConfigMapName: "ca", Key: "c"}}
	claim := &v1alpha1.VolumeStore{ClaimName: "nfs"}
	azure := func(c *v1alpha1.AzureCredentials) func(*v1alpha1.GaleraBackupStoreSpec) {
		return func(s *v1alpha1.GaleraBackupStoreSpec) {
			s.Azure = &v1alpha1.AzureStore{Account: "acc", Container: "c", Prefix: "p", Endpoint: "https://az.example.org",
				Credentials: c}
		}
	}
	for name, c := range map[string]struct {
		store func(*v1alpha1.GaleraBackupStoreSpec)
		rich  bool
		o     Options
	}{
		"amazon":       {func(s *v1alpha1.GaleraBackupStoreSpec) { s.S3 = amazon }, true, Options{LogFormat: "json"}},
		"volume":       {func(s *v1alpha1.GaleraBackupStoreSpec) { s.Volume = claim }, false, Options{AssignedUsers: true}},
		"google":       {func(s *v1alpha1.GaleraBackupStoreSpec) { s.GCS = google }, false, Options{}},
		"azure":        {azure(&v1alpha1.AzureCredentials{SecretName: "az", AccountKeyKey: "k"}), false, Options{}},
		"azure-signed": {azure(&v1alpha1.AzureCredentials{SecretName: "az", SASTokenKey: "sas"}), false, Options{}},
		"azure-own":    {azure(nil), false, Options{}},
	} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "demo", UID: "s1"}}
		s.Spec.Encryption.Recipients, s.Status.Checks = []string{"age1xyz"}, 7
		c.store(&s.Spec)
		of := shop()
		if c.rich {
			rich(s, of)
		}
		c.o.Image = "operator"
		got := rendered(t, of, s, c.o, c.rich || s.Spec.Volume != nil)
		file := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is rendered; if that is meant, run: go test ./internal/backup/job -update (%v)", file, err)
		}
	}
}

func shop() *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "a54080f9-1111",
		Generation: 4}}
	c.Spec.Replicas, c.Spec.Storage.Size = 3, resource.MustParse("1Gi")
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "age", Key: "identity"},
		External: &v1alpha1.BootstrapExternal{Host: "old.example.org", Port: 3307,
			CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}}}
	c.Status.Restore = &v1alpha1.RestoreStatus{Attempts: 2, ObservedGeneration: 3, ID: "i1", History: "h1",
		MemberAttempts: map[string]int32{"shop-1": 5}}
	return c
}

// rich sets what is optional.
func rich(s *v1alpha1.GaleraBackupStore, c *v1alpha1.GaleraCluster) {
	s.Spec.SingleWriter, s.Spec.ServiceAccountName = true, "writer-galera"
	s.Spec.Retention = &v1alpha1.BackupRetention{KeepWithin: &metav1.Duration{Duration: 60 * time.Hour}}
	s.Spec.Pods = &v1alpha1.BackupPods{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "of-the-store"}},
		Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}}
	p := c.Spec.Backup.PointInTime
	p.Window, p.Interval = &metav1.Duration{Duration: 48 * time.Hour}, &metav1.Duration{Duration: 3 * time.Second}
	c.Status.Backup = &v1alpha1.ArchiveStatus{Session: "session"}
	c.Status.AtRest = &v1alpha1.AtRestStatus{Keys: []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: "ff"}}}
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}
	c.Spec.Scheduling = v1alpha1.SchedulingSpec{NodeSelector: map[string]string{"disk": "fast"}, PriorityClassName: "high",
		Tolerations: []corev1.Toleration{{Key: "db", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1}}}
	c.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "of-the-store"}, {Name: "registry"}}
	c.Spec.OverrulesPromotion, c.Spec.Cutover = "site/standby/b1", &v1alpha1.CutoverSpec{GTID: "5-9-7"}
	c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Endpoints: []string{"east:3306"},
		IdentitySecretRef:    c.Spec.BootstrapFrom.IdentitySecretRef,
		CredentialsSecretRef: &v1alpha1.LocalName{Name: "east"}, TLS: &v1alpha1.EndpointTLS{
			CASecretRef: v1alpha1.LocalName{Name: "east-ca"}, CertificateSecretRef: &v1alpha1.LocalName{Name: "east-tls"}}}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"max_connections": {Text: "500", Number: true}}
	e := c.Spec.BootstrapFrom.External
	e.TLS, e.Databases, e.Users, e.Connections, e.Follow = &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{
		Name: "old-ca"}}, []string{"shop"}, true, 4, true
}

// rendered are all objects of a store, or those of which every kind of store has its own.
func rendered(t *testing.T, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, o Options, all bool) []byte {
	t.Helper()
	var out bytes.Buffer
	add := func(object any, err error) {
		text, textErr := yaml.Marshal(object)
		if err != nil || textErr != nil {
			t.Fatal(err, textErr)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	j, err := Check(s, o)
	add(j, err)
	if !all {
		return out.Bytes()
	}
	ro := resources.Options{DefaultImage: "mariadb"}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: "demo", UID: "b1"}}
	b.Spec.ClusterRef.Name, b.Spec.IdentitySecretRef = "shop", &v1alpha1.SecretKey{Name: "key", Key: "identity"}
	b.Spec.Import = &v1alpha1.BackupImport{Directory: "demo/shop/a54080f9", ID: "i1"}
	b.Status.ID, b.Status.Directory, b.Status.Attempts, b.Status.Removals = "i2", "demo/shop/0", 8, 9
	b.Status.Checksum = "of-the-manifest"
	b.Status.Verification = &v1alpha1.BackupVerification{Attempts: 6}
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "orders", UID: "r1"}}
	r.Spec.ClusterRef.Name, r.Status.Attempts = "shop", 3
	r.Spec.From.IdentitySecretRef = v1alpha1.SecretKey{Name: "id", Key: "age.txt"}
	r.Spec.Database = &v1alpha1.RestoreDatabase{As: "before"}
	j, err = Backup(b, c, s, task.Backup{Address: "10.0.0.1:8443", Level: "Best"}, 8, o)
	add(j, err)
	add(Key(b, []byte("cert"), []byte("key"), []byte("ca")), nil)
	j, err = Describe(b, c, s, o)
	add(j, err)
	j, err = Remove(b, nil, s, o)
	add(j, err)
	j, err = Verify(b, s, c, task.Verify{Dir: "d", ID: "i2", Checksum: "sum"}, ro, o)
	add(j, err)
	j, err = Verify(b, s, c, task.Verify{Dir: "d", ID: "i2", Restore: true}, ro, o)
	add(j, err)
	j, err = Find(c, s, task.Find{Dir: "d"}, o)
	add(j, err)
	j, err = Restore(c, s, 1, task.Restore{Dir: "d", ID: "i2", History: "h1"}, ro, o)
	add(j, err)
	j, err = Inspect(c, ro, o)
	add(j, err)
	j, err = Import(c, ro, o)
	add(j, err)
	c.Status.Reseed = &v1alpha1.ReseedStatus{StartedAt: metav1.Unix(1700000000, 0), Attempts: 4}
	j, err = Recheck(c, ro, o)
	add(j, err)
	from := r.DeepCopy()
	from.Spec.From.External = &v1alpha1.RestoreExternal{Host: "old.example.org", Port: 3307, Connections: 2,
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}, RateLimit: new(resource.MustParse("2Mi")),
		TLS: &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "old-ca"}}}
	j, err = InspectFor(from, c, o)
	add(j, err)
	j, err = LoadFrom(from, c, task.Load{Database: "shop"}, "binding", o)
	add(j, err)
	j, err = FindFor(r, c, s, task.Find{Dir: "d"}, o)
	add(j, err)
	j, err = Load(r, c, s, task.Load{Database: "shop"}, "binding", ro, o)
	add(j, err)
	d, err := Archiver(c, s, Damaged{IDs: []string{"i3"}, More: true}, ro, o)
	add(d, err)
	add(ArchiverUser(c), nil)
	d, err = Source(c, s, v1alpha1.SecretKey{Name: "keys", Key: "k"}, task.Serve{Dir: "d", Chain: 3}, o)
	add(d, err)
	add(SourceService(c), nil)
	add(SourceSecret(c, "password", []byte("cert"), []byte("key")), nil)
	add(Account(s), nil)
	return out.Bytes()
}
