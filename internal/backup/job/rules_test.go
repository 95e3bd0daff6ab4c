package job

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestUserOfAStore: what writes to a volume has the user of the nodes, who restore from it. What uses another store has
// a user of its own.
func TestUserOfAStore(t *testing.T) {
	for name, c := range map[string]struct {
		spec v1alpha1.GaleraBackupStoreSpec
		want int64
	}{
		"a volume": {v1alpha1.GaleraBackupStoreSpec{Volume: &v1alpha1.VolumeStore{ClaimName: "nfs"}}, mysqlID},
		"S3":       {v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b"}}, uid},
	} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "demo"}, Spec: c.spec}
		check, err := Check(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		archiver, err := Archiver(shop(), s, Damaged{}, resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		source, err := Source(shop(), s, v1alpha1.SecretKey{}, task.Serve{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string]*int64{"the check": check.Spec.Template.Spec.SecurityContext.RunAsUser,
			"the archiver": archiver.Spec.Template.Spec.SecurityContext.RunAsUser,
			"the source":   source.Spec.Template.Spec.SecurityContext.RunAsUser} {
			if p == nil || *p != c.want {
				t.Errorf("%s of %s has not the user %d", what, name, c.want)
			}
		}
	}
}

// TestWindow: the archive is kept for as long as the cluster asks for, and as the store's retention promises.
func TestWindow(t *testing.T) {
	hours := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }
	for name, c := range map[string]struct {
		window    *metav1.Duration
		retention *v1alpha1.BackupRetention
		want      int
	}{
		"by default":           {nil, nil, 720},
		"as asked for":         {hours(48), nil, 48},
		"a shorter retention":  {hours(48), &v1alpha1.BackupRetention{KeepWithin: hours(24)}, 48},
		"a longer retention":   {hours(48), &v1alpha1.BackupRetention{KeepWithin: hours(60)}, 60},
		"a retention by count": {hours(48), &v1alpha1.BackupRetention{KeepLast: 9}, 48},
	} {
		of, s := shop(), &v1alpha1.GaleraBackupStore{}
		of.Spec.Backup.PointInTime.Window, s.Spec.Retention = c.window, c.retention
		if have := archival.Window(of, s); have != time.Duration(c.want)*time.Hour {
			t.Errorf("%s: %s instead of %d h", name, have, c.want)
		}
	}
	if have := archival.Window(&v1alpha1.GaleraCluster{}, &v1alpha1.GaleraBackupStore{}); have != 720*time.Hour {
		t.Errorf("without point in time: %s", have)
	}
}

// TestIdentityOfAServer: whether another server's certificate has to name its host.
func TestIdentityOfAServer(t *testing.T) {
	for name, c := range map[string]struct {
		tls             *v1alpha1.ExternalTLS
		plain, identity bool
	}{
		"without TLS": {nil, true, false},
		"by default":  {&v1alpha1.ExternalTLS{}, false, true},
		"its name":    {&v1alpha1.ExternalTLS{Verify: v1alpha1.VerifyIdentity}, false, true},
		"its CA":      {&v1alpha1.ExternalTLS{Verify: v1alpha1.VerifyCA}, false, false},
	} {
		of, r := shop(), &v1alpha1.GaleraRestore{}
		of.Spec.BootstrapFrom.External.TLS = c.tls
		r.Spec.From.External, r.Spec.Database = &v1alpha1.RestoreExternal{TLS: c.tls}, &v1alpha1.RestoreDatabase{Name: "a"}
		if have := External(of); have.Plain != c.plain || have.Identity != c.identity {
			t.Errorf("%s: %+v", name, have)
		}
		if have := serverOf(r); have.Plain != c.plain || have.Identity != c.identity {
			t.Errorf("%s, of tables: %+v", name, have)
		}
	}
}

// TestAccountAllowed: a store names no ServiceAccount that is not meant for it.
func TestAccountAllowed(t *testing.T) {
	o := Options{ServiceAccounts: []string{"backups"}}
	for name, want := range map[string]bool{"writer-galera": true, "backups": true, "default": false,
		"galera-operator": false, "": false} {
		if AccountAllowed(name, o) != want {
			t.Errorf("%q is allowed: %v", name, !want)
		}
	}
}

// TestTarget: only a restore into a new database is marked with it, so that another one into it waits.
func TestTarget(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "demo"}}
	for name, c := range map[string]struct {
		database *v1alpha1.RestoreDatabase
		marked   bool
	}{
		"a table":    {nil, false},
		"a database": {&v1alpha1.RestoreDatabase{Name: "shop", As: "before"}, true},
	} {
		r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "demo"}}
		r.Spec.ClusterRef.Name, r.Spec.Database, r.Spec.Table = "shop", c.database, &v1alpha1.RestoreTable{}
		r.Spec.From.External = &v1alpha1.RestoreExternal{Host: "db"}
		ofStore, err := Load(r, shop(), s, task.Load{}, "binding", resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ofServer, err := LoadFrom(r, shop(), task.Load{}, "binding", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, labels := range []map[string]string{ofStore.Labels, ofStore.Spec.Template.Labels, ofServer.Labels,
			ofServer.Spec.Template.Labels} {
			if mark, marked := labels[v1alpha1.LabelRestoreTarget]; marked != c.marked || marked && mark != TargetName(r) {
				t.Errorf("%s: %v", name, labels)
			}
		}
	}
}

// TestRemovalOfAnImport: a backup that another object has made goes only if it is the one that was imported.
func TestRemovalOfAnImport(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "demo"}}
	for want, of := range map[string]*v1alpha1.BackupImport{"": nil, "sum": {ID: "i1"}} {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "demo"}}
		b.Spec.Import, b.Status.Checksum, b.Status.ID = of, "sum", "i1"
		j, err := Remove(b, nil, s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var have task.Task
		if err := json.Unmarshal([]byte(j.Spec.Template.Spec.Containers[0].Env[0].Value), &have); err != nil ||
			have.Remove == nil || have.Remove.Checksum != want || have.Remove.ID != "i1" {
			t.Errorf("%+v, %v", have.Remove, err)
		}
	}
}

// TestNoUpstream: there is a stream where the other cluster is named, and its certificate can be checked.
func TestNoUpstream(t *testing.T) {
	tls := &v1alpha1.EndpointTLS{Verify: v1alpha1.VerifyCA}
	for name, c := range map[string]struct {
		of   *v1alpha1.ReplicaOf
		want bool
	}{
		"it follows none": {nil, false},
		"no endpoints":    {&v1alpha1.ReplicaOf{TLS: tls}, false},
		"no TLS":          {&v1alpha1.ReplicaOf{Endpoints: []string{"east"}}, false},
		"both":            {&v1alpha1.ReplicaOf{Endpoints: []string{"east"}, TLS: tls}, true},
	} {
		of, s := shop(), &v1alpha1.GaleraBackupStore{}
		of.Spec.ReplicaOf = c.of
		if have := Upstream(of); (have != nil) != c.want || have != nil && (!have.AnyName || have.Client) {
			t.Errorf("%s: %+v", name, have)
		}
		d, err := Source(of, s, v1alpha1.SecretKey{}, task.Serve{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mounts := map[string]bool{}
		for _, v := range d.Spec.Template.Spec.Volumes {
			mounts[v.Name] = true
		}
		if mounts[volumeUpstreamCA] != c.want || mounts[volumeUpstream] || mounts[volumeUpstreamClient] {
			t.Errorf("%s: %v", name, mounts)
		}
	}
}
