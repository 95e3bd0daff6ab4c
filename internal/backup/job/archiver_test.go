package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestArchiver: the archiver has an account's certificate and the store's credentials, and nothing else.
func TestArchiver(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("c", 40), Namespace: "demo",
		UID: "a54080f9-1111"}}
	c.Spec.Replicas, c.Status.Replicas = 3, 5
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	s := &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups",
		Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}}}
	d, err := Archiver(c, s, Damaged{IDs: []string{"b1"}, More: true}, resources.Options{}, Options{Image: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Spec.Template.Spec
	container := p.Containers[0]
	at := map[string]bool{}
	for _, m := range container.VolumeMounts {
		at[m.MountPath] = true
	}
	if *p.AutomountServiceAccountToken || !*p.SecurityContext.RunAsNonRoot ||
		!*container.SecurityContext.ReadOnlyRootFilesystem || len(p.Volumes) != 3 ||
		!at[task.ClientDir] || !at[task.StoreDir] || at[task.KeysDir] || *d.Spec.Replicas != 1 ||
		d.Spec.Strategy.Type != "Recreate" {
		t.Errorf("%+v", p)
	}
	var reported task.Task
	if err := json.Unmarshal([]byte(container.Env[0].Value), &reported); err != nil || len(reported.Archive.Nodes) != 5 ||
		reported.Archive.IntervalSeconds != 10 || reported.Archive.Dir != "demo/"+c.Name+"/a54080f9" ||
		len(reported.Archive.Damaged) != 1 || !reported.Archive.KeepAll {
		t.Errorf("%s: %v", container.Env[0].Value, err)
	}
	u := ArchiverUser(c)
	if len(u.Name) > 63 || u.Spec.Name != reported.Archive.User || u.Spec.Require != v1alpha1.RequireX509 ||
		!u.Spec.Authentication.None || len(u.Spec.Grants) != 1 ||
		!slices.Equal(u.Spec.Grants[0].Privileges, []string{"REPLICATION SLAVE"}) || u.Spec.Grants[0].Database != "" {
		t.Errorf("%+v", u.Spec)
	}
}

// TestOverrules: neither a promotion counts that a person has overruled, nor that of a cluster which this one has
// followed since. One of them does not hide the other, whatever the status has lost.
func TestOverrules(t *testing.T) {
	const completed = v1alpha1.ReseedCompleted
	for name, tc := range map[string]struct{ spec, superseded, request, phase, want, replaced string }{
		"nothing":                     {},
		"it has, and that is lost":    {"", "", "", "lost", "", "4-bbbbbbbb"},
		"a person has":                {"5-cccccccc", "5-cccccccc", "", "", "5-cccccccc", ""},
		"a person has since":          {"5-cccccccc", "5-cccccccc", "4-bbbbbbbb", completed, "5-cccccccc", "4-bbbbbbbb"},
		"so it has, and that is lost": {"5-cccccccc", "", "4-bbbbbbbb", completed, "5-cccccccc", "4-bbbbbbbb"},
		"a person has before":         {"3-cccccccc", "", "4-bbbbbbbb", completed, "3-cccccccc", "4-bbbbbbbb"},
		"it has followed":             {"", "", "4-bbbbbbbb", completed, "", "4-bbbbbbbb"},
		"it is about to be emptied":   {"", "4-bbbbbbbb", "4-bbbbbbbb", v1alpha1.ReseedEmptying, "", ""},
		"its source was copied again": {"", "", "always@1700000000", completed, "", ""},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "prod", UID: "aaaaaaaa-1"}}
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		c.Spec.OverrulesPromotion = tc.spec
		if tc.superseded != "" {
			c.Status.Superseded = &v1alpha1.SupersededStatus{ID: tc.superseded}
		}
		if c.Status.Reseed = (&v1alpha1.ReseedStatus{Request: tc.request, Phase: tc.phase}); tc.phase == "lost" {
			c.Status.Reseed, c.Status.Identity = nil, v1alpha1.IdentityAfter(c, "4-bbbbbbbb")
			c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: "4-bbbbbbbb"}
			c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
		}
		d, err := Archiver(c, &v1alpha1.GaleraBackupStore{}, Damaged{}, resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var given task.Task
		err = json.Unmarshal([]byte(d.Spec.Template.Spec.Containers[0].Env[0].Value), &given)
		if err != nil || given.Archive.Overrules != tc.want || given.Archive.Replaced != tc.replaced {
			t.Errorf("%s: %v, %q, %q", name, err, given.Archive.Overrules, given.Archive.Replaced)
		}
	}
}
