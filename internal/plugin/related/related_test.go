package related

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(-d))) }

func name(n string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "demo", Name: n, CreationTimestamp: *ago(time.Hour)}
}

func cond(kind string, status bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if status {
		c.Status = metav1.ConditionTrue
	}
	return c
}

func aStore(edits ...func(*v1alpha1.GaleraBackupStore)) v1alpha1.GaleraBackupStore {
	s := v1alpha1.GaleraBackupStore{ObjectMeta: name("offsite")}
	s.Spec.S3 = &v1alpha1.S3Store{Bucket: "shop", Endpoint: "https://s3.example.com",
		Credentials: &v1alpha1.S3Credentials{SecretName: "s3-key"}}
	s.Status.Conditions = []metav1.Condition{cond(v1alpha1.ConditionReachable, true, "Reachable", "")}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func away(reason, message string) func(*v1alpha1.GaleraBackupStore) {
	return func(s *v1alpha1.GaleraBackupStore) {
		s.Status.Conditions = []metav1.Condition{cond(v1alpha1.ConditionReachable, false, reason, message)}
	}
}

func aBackup(n, phase, reason, message string, conditions ...metav1.Condition) v1alpha1.GaleraBackup {
	b := v1alpha1.GaleraBackup{ObjectMeta: name(n)}
	b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name = "shop", "offsite"
	b.Status.Phase = phase
	b.Status.Conditions = append(slices.Clone(conditions),
		cond(v1alpha1.ConditionComplete, phase == v1alpha1.BackupCompleted, reason, message))
	if phase == v1alpha1.BackupCompleted {
		b.Status.CompletedAt = ago(50 * time.Minute)
	}
	return b
}

func older(b v1alpha1.GaleraBackup) v1alpha1.GaleraBackup {
	b.CreationTimestamp = *ago(2 * time.Hour)
	return b
}

func aSchedule(edits ...func(*v1alpha1.GaleraBackupSchedule)) v1alpha1.GaleraBackupSchedule {
	s := v1alpha1.GaleraBackupSchedule{ObjectMeta: name("nightly")}
	s.Spec.Template.StoreRef.Name = "offsite"
	s.Status.LastScheduleTime, s.Status.LastSuccessTime = ago(7*time.Hour), ago(6*time.Hour)
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func aUser(n string, conditions ...metav1.Condition) v1alpha1.GaleraUser {
	u := v1alpha1.GaleraUser{ObjectMeta: name(n)}
	u.Status.Conditions = conditions
	u.Status.Binding = &v1alpha1.BindingStatus{Name: n + "-binding"}
	return u
}

var ready = cond(v1alpha1.ConditionReady, true, "Ready", "")

func cluster(edits ...func(*v1alpha1.GaleraCluster)) *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{ObjectMeta: name("shop")}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func archiving(status bool, reason, message string) func(*v1alpha1.GaleraCluster) {
	return func(c *v1alpha1.GaleraCluster) {
		c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			PointInTime: &v1alpha1.PointInTime{Enabled: true}}
		c.Status.Conditions = []metav1.Condition{cond(v1alpha1.ConditionPointInTimeRecoverable, status, reason, message)}
	}
}

// words are an area's state and its findings: STATE, then KIND/NAME STATE REASON of each.
func words(a *Area) string {
	if a == nil {
		return "-"
	}
	out := []string{a.State}
	for _, f := range a.Findings {
		out = append(out, fmt.Sprintf("%s/%s %s %s", f.Kind, f.Name, f.State, f.Reason))
	}
	return strings.Join(out, "; ")
}

func TestBackups(t *testing.T) {
	stores := []v1alpha1.GaleraBackupStore{aStore()}
	complete := aBackup("b1", v1alpha1.BackupCompleted, "BackupCompleted", "")
	byTheSchedule := aBackup("nightly-1", v1alpha1.BackupFailed, "ToolFailed", "mariadb-backup said no")
	byTheSchedule.Labels = map[string]string{v1alpha1.LabelSchedule: "nightly"}
	deleted := aBackup("b0", v1alpha1.BackupFailed, "ToolFailed", "")
	deleted.DeletionTimestamp = ago(time.Minute)
	moved := older(complete)
	moved.Spec.StoreRef.Name = "given-up"
	for what, c := range map[string]struct {
		o    Objects
		want string
		says string // of the first finding: message, what to do, command
	}{
		"nothing": {Objects{}, "-", ""},
		"all is well": {Objects{Stores: stores, Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule()},
			Backups: []v1alpha1.GaleraBackup{complete}}, "OK", ""},
		"a store that is used no more": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{moved, complete}}, "OK",
			""},
		"the store is not there": {Objects{Backups: []v1alpha1.GaleraBackup{complete}},
			"Failing; GaleraBackupStore/offsite Failing StoreNotFound", "kubectl get galerabackupstores -n demo"},
		"the bucket is missing": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(
			away("StoreRefused", "NoSuchBucket"))}, Backups: []v1alpha1.GaleraBackup{complete}},
			"Failing; GaleraBackupStore/offsite Failing StoreRefused",
			"bucket shop exists at https://s3.example.com, and that the key in the Secret s3-key"},
		"the store is cut off": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(
			away("StoreUnreachable", "timeout"))}, Backups: []v1alpha1.GaleraBackup{complete}},
			"Failing; GaleraBackupStore/offsite Failing StoreUnreachable", "NetworkPolicies"},
		"a container is missing": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(
			away("StoreRefused", "ContainerNotFound"), func(s *v1alpha1.GaleraBackupStore) {
				s.Spec.S3, s.Spec.Azure = nil, &v1alpha1.AzureStore{Account: "acme", Container: "shop"}
			})}, Backups: []v1alpha1.GaleraBackup{complete}}, "Failing; GaleraBackupStore/offsite Failing StoreRefused",
			"container shop exists at Azure, account acme, and that the ServiceAccount's identity"},
		"Google's bucket is missing": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("StoreRefused", "404"),
			func(s *v1alpha1.GaleraBackupStore) {
				s.Spec.S3, s.Spec.GCS = nil, &v1alpha1.GCSStore{Bucket: "shop",
					Credentials: &v1alpha1.GCSCredentials{SecretName: "gcs"}}
			})}, Backups: []v1alpha1.GaleraBackup{complete}}, "Failing; GaleraBackupStore/offsite Failing StoreRefused",
			"bucket shop exists at Google Cloud Storage, and that the key in the Secret gcs"},
		"the store is being checked": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("Checking", ""))},
			Backups: []v1alpha1.GaleraBackup{complete}}, "Waiting; GaleraBackupStore/offsite Waiting Checking", ""},
		"the store was changed": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("StoreRefused", ""),
			func(s *v1alpha1.GaleraBackupStore) { s.Generation = 2 })}, Backups: []v1alpha1.GaleraBackup{complete}},
			"Waiting; GaleraBackupStore/offsite Waiting Checking", ""},
		"a backup that waits for it": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("StoreRefused", ""))},
			Backups: []v1alpha1.GaleraBackup{aBackup("b2", v1alpha1.BackupPending, "StoreRefused", "")}},
			"Failing; GaleraBackupStore/offsite Failing StoreRefused", ""},
		"the store was well, and is not": {Objects{Stores: stores,
			Backups: []v1alpha1.GaleraBackup{aBackup("b2", v1alpha1.BackupPending, "StoreUnreachable", "attempt 1 has failed"),
				older(complete)}}, "Failing; GaleraBackup/b2 Failing StoreUnreachable",
			"kubectl describe galerabackupstore offsite -n demo"},
		"the store's Secret is missing": {Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(
			away("StoreRefused", `there is no Secret "s3-key" in this namespace: create it.`))},
			Backups: []v1alpha1.GaleraBackup{complete}}, "Failing; GaleraBackupStore/offsite Failing StoreRefused",
			"create it.. : kubectl describe"},
		"the last one failed": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{older(complete),
			aBackup("b2", v1alpha1.BackupFailed, "ToolFailed", "mariadb-backup said no")}},
			"Failing; GaleraBackup/b2 Failing ToolFailed", "kubectl galera backup shop -n demo --store offsite"},
		"one of a schedule failed": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{byTheSchedule}},
			"Failing; GaleraBackup/nightly-1 Failing ToolFailed", "The schedule nightly makes the next one"},
		"one that failed is being deleted": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{older(complete),
			deleted}}, "OK", ""},
		"an earlier one failed": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{complete,
			older(aBackup("b0", v1alpha1.BackupFailed, "ToolFailed", ""))}}, "OK", ""},
		"one runs": {Objects{Stores: stores,
			Backups: []v1alpha1.GaleraBackup{aBackup("b2", v1alpha1.BackupRunning, "BackupRunning", ""), older(complete)}},
			"Waiting; GaleraBackup/b2 Waiting BackupRunning", ""},
		"one runs after one that failed": {Objects{Stores: stores,
			Backups: []v1alpha1.GaleraBackup{aBackup("b2", v1alpha1.BackupRunning, "BackupRunning", ""), older(byTheSchedule)}},
			"Failing; GaleraBackup/nightly-1 Failing ToolFailed; GaleraBackup/b2 Waiting BackupRunning", ""},
		"it is damaged": {Objects{Stores: stores,
			Backups: []v1alpha1.GaleraBackup{aBackup("b1", v1alpha1.BackupCompleted, "", "",
				cond(v1alpha1.ConditionVerified, false, "BackupDamaged", ""))}}, "Failing; GaleraBackup/b1 Failing BackupDamaged",
			"Do not rely on it"},
		"it is being tested": {Objects{Stores: stores,
			Backups: []v1alpha1.GaleraBackup{aBackup("b1", v1alpha1.BackupCompleted, "", "",
				cond(v1alpha1.ConditionVerified, false, "Verifying", ""))}}, "Waiting; GaleraBackup/b1 Waiting Verifying", ""},
		"the schedule is unreadable": {Objects{Stores: stores,
			Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule(func(s *v1alpha1.GaleraBackupSchedule) {
				s.Status.Conditions = []metav1.Condition{cond(v1alpha1.ConditionStalled, true, "ScheduleInvalid", "")}
			})}}, "Failing; GaleraBackupSchedule/nightly Failing ScheduleInvalid",
			"kubectl edit galerabackupschedule nightly -n demo"},
		"it is suspended": {Objects{Stores: stores,
			Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule(
				func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Suspend = true })}},
			"Waiting; GaleraBackupSchedule/nightly Waiting Suspended", `{"spec":{"suspend":false}}`},
		"it is overdue": {Objects{Stores: stores,
			Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule(
				func(s *v1alpha1.GaleraBackupSchedule) { s.Status.LastSuccessTime = ago(30 * time.Hour) })}},
			"Failing; GaleraBackupSchedule/nightly Failing Overdue", "due at 2026-03-01T05:00:00Z"},
		"due lately": {Objects{Stores: stores,
			Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule(
				func(s *v1alpha1.GaleraBackupSchedule) { s.Status.LastScheduleTime = ago(time.Hour) })}}, "OK", ""},
		"schedules may not be read": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{complete},
			Unread: []Unread{{Kind: "GaleraBackupSchedule"}}}, "Unknown", ""},
		"and the last one failed": {Objects{Stores: stores, Backups: []v1alpha1.GaleraBackup{byTheSchedule},
			Unread: []Unread{{Kind: "GaleraBackupSchedule"}}}, "Failing; GaleraBackup/nightly-1 Failing ToolFailed", ""},
		"stores may not be read": {Objects{Backups: []v1alpha1.GaleraBackup{complete},
			Unread: []Unread{{Kind: "GaleraBackupStore"}}}, "Unknown", ""},
	} {
		got := Judge(cluster(), c.o, noon).Backups
		if words(got) != c.want {
			t.Errorf("%s: %s, want %s", what, words(got), c.want)
			continue
		}
		if c.says != "" {
			if f := got.Findings[0]; !strings.Contains(f.Message+". "+f.Do+": "+f.Command, c.says) {
				t.Errorf("%s says %+v, want %s", what, f, c.says)
			}
		}
	}
	if got := Judge(cluster(), Objects{Stores: stores,
		Backups: []v1alpha1.GaleraBackup{aBackup("b2", v1alpha1.BackupRunning, "", ""), older(complete)}}, noon).
		Backups.Last; got == nil || got.Name != "b1" {
		t.Errorf("the last one is %+v", got)
	}
}

func TestArchive(t *testing.T) {
	stores := []v1alpha1.GaleraBackupStore{aStore()}
	for what, c := range map[string]struct {
		cluster *v1alpha1.GaleraCluster
		o       Objects
		want    string
	}{
		"none is wanted": {cluster(), Objects{Stores: stores}, "-"},
		"all is well":    {cluster(archiving(true, "Archiving", "")), Objects{Stores: stores}, "OK"},
		"it is not reported yet": {cluster(archiving(true, "", ""),
			func(c *v1alpha1.GaleraCluster) { c.Status.Conditions = nil }), Objects{Stores: stores},
			"Waiting; GaleraCluster/shop Waiting ArchiverStarting"},
		"its first backup is made": {cluster(archiving(false, "BaseMissing", "")), Objects{Stores: stores},
			"Waiting; GaleraCluster/shop Waiting BaseMissing"},
		"it has a gap": {cluster(archiving(false, "ArchiveGap", "")), Objects{Stores: stores},
			"Failing; GaleraCluster/shop Failing ArchiveGap"},
		"its store is cut off": {cluster(archiving(true, "Archiving", "")),
			Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("StoreUnreachable", ""))}},
			"Failing; GaleraBackupStore/offsite Failing StoreUnreachable"},
		"which the backups reported": {cluster(archiving(false, "ArchiveLags", "")),
			Objects{Stores: []v1alpha1.GaleraBackupStore{aStore(away("StoreUnreachable", ""))},
				Schedules: []v1alpha1.GaleraBackupSchedule{aSchedule()}}, "Failing; GaleraCluster/shop Failing ArchiveLags"},
		"its store is not there": {cluster(archiving(true, "Archiving", "")), Objects{},
			"Failing; GaleraBackupStore/offsite Failing StoreNotFound"},
		"its store may not be read": {cluster(archiving(true, "Archiving", "")),
			Objects{Unread: []Unread{{Kind: "GaleraBackupStore"}}}, "Unknown"},
	} {
		if got := words(Judge(c.cluster, c.o, noon).Archive); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func TestUsers(t *testing.T) {
	bindings := map[string][]string{"demo": {"app-binding"}}
	expired := aUser("app", ready)
	expired.Status.CertificateNotAfter = ago(time.Minute)
	db := v1alpha1.GaleraDatabase{ObjectMeta: name("orders")}
	db.Status.Conditions = []metav1.Condition{cond(v1alpha1.ConditionReady, false, "ExistsAlready", "")}
	for what, c := range map[string]struct {
		o    Objects
		want string
	}{
		"nothing":     {Objects{}, "-"},
		"all is well": {Objects{Users: []v1alpha1.GaleraUser{aUser("app", ready)}, Secrets: bindings}, "OK"},
		"not seen": {Objects{Users: []v1alpha1.GaleraUser{aUser("app")}, Secrets: bindings},
			"Waiting; GaleraUser/app Waiting NotSeen"},
		"the cluster is busy": {Objects{Users: []v1alpha1.GaleraUser{aUser("app",
			cond(v1alpha1.ConditionReady, false, "ClusterBusy", ""))}, Secrets: bindings},
			"Waiting; GaleraUser/app Waiting ClusterBusy"},
		"refused, and one waits": {Objects{Users: []v1alpha1.GaleraUser{aUser("app",
			cond(v1alpha1.ConditionReady, false, "ClusterBusy", ""))}, Databases: []v1alpha1.GaleraDatabase{db},
			Secrets: bindings}, "Failing; GaleraDatabase/orders Failing ExistsAlready; GaleraUser/app Waiting ClusterBusy"},
		"its binding is gone": {Objects{Users: []v1alpha1.GaleraUser{aUser("app", ready)},
			Secrets: map[string][]string{"demo": {}}}, "Failing; GaleraUser/app Failing BindingMissing"},
		"bindings cannot be read": {Objects{Users: []v1alpha1.GaleraUser{aUser("app", ready)},
			Unread: []Unread{{Kind: "Secret"}}}, "Unknown"},
		"its certificate expired": {Objects{Users: []v1alpha1.GaleraUser{expired}, Secrets: bindings},
			"Failing; GaleraUser/app Failing CertificateExpired"},
		"its password is missing": {Objects{Users: []v1alpha1.GaleraUser{aUser("app", ready,
			cond(v1alpha1.ConditionPasswordRotated, false, "PasswordMissing", ""))}, Secrets: bindings},
			"Failing; GaleraUser/app Failing PasswordMissing"},
		"users may not be read":    {Objects{Unread: []Unread{{Kind: "GaleraUser"}}}, "Unknown"},
		"an older operator's CRDs": {Objects{Unread: []Unread{{Kind: "GaleraDatabase", Reason: NotInstalled}}}, "Unknown"},
	} {
		if got := words(Judge(cluster(), c.o, noon).Users); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}
