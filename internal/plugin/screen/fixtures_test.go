package screen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

// well is a report without a problem.
func well() *related.Report {
	return &related.Report{Backups: &related.Area{State: related.OK,
		Last: &related.Last{Name: "shop-now", CompletedAt: *at(-5 * time.Hour), StoredSize: "5422Ki",
			Position: "18cbf30b-e79e-11f1-acc2-86401dfd9420:9", Verified: metav1.ConditionTrue}},
		Archive: &related.Area{State: related.OK}, Users: &related.Area{State: related.OK}}
}

// failing is one where a bucket is missing, the archive is behind, and a user was refused.
func failing() *related.Report {
	r := well()
	r.Backups.State, r.Backups.Last.Verified = related.Failing, metav1.ConditionFalse
	r.Backups.Findings = []related.Finding{
		{Kind: "GaleraBackupStore", Namespace: "demo", Name: "offsite", State: related.Failing, Reason: "StoreRefused",
			Message: "NoSuchBucket: The specified bucket does not exist.",
			Do: "Check that the bucket shop exists at https://s3.example.com, and that the key in the Secret s3-key may " +
				"list it, and write, read and delete there",
			Command: "kubectl describe galerabackupstore offsite -n demo"},
		{Kind: "GaleraBackup", Namespace: "demo", Name: "nightly-20260301-0200", State: related.Waiting,
			Reason: "BackupRunning", Message: "copying the data of shop-1"},
	}
	r.Archive = &related.Area{State: related.Failing,
		Findings: []related.Finding{{Kind: "GaleraCluster", Namespace: "demo", Name: "shop", State: related.Failing,
			Reason:  "StoreRefused",
			Message: "nothing is archived since 2026-03-01T11:40:00Z: NoSuchBucket",
			Command: "kubectl describe galerabackupstore offsite -n demo"}}}
	r.Users = &related.Area{State: related.Failing,
		Findings: []related.Finding{{Kind: "GaleraUser", Namespace: "front", Name: "app", State: related.Failing,
			Reason: "ExistsAlready",
			Message: "the account 'app'@'%' exists and was not made by a GaleraUser: choose another name, or take it over " +
				"with spec.adopt: true", Command: "kubectl describe galerauser app -n front"}}}
	return r
}
