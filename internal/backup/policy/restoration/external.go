package restoration

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// maxFindings is how many findings a status has.
const maxFindings = 32

// IsExternal reports whether a cluster begins with a copy of another server.
func IsExternal(c *v1alpha1.GaleraCluster) bool {
	return c.Spec.BootstrapFrom != nil && c.Spec.BootstrapFrom.External != nil
}

// firstMessage describes what is done first.
func firstMessage(c *v1alpha1.GaleraCluster) string {
	if b := c.FromBackup(); b != nil {
		return fmt.Sprintf("looking for the backup %s in the store %s", b.Path, b.StoreRef.Name)
	}
	if IsExternal(c) {
		return "checking the source " + c.Spec.BootstrapFrom.External.Host
	}
	return "looking for the backup"
}

// inspecting has the source checked, again and again until nothing keeps it from being copied. What was found stays
// reported meanwhile.
func inspecting(s *v1alpha1.RestoreStatus, f Facts) Decision {
	o := f.Find
	switch {
	case f.Blocker.Reason != "":
		s.Reason, s.Message = f.Blocker.Reason, f.Blocker.Message
		return Decision{RequeueAfter: whileWaiting}
	case o.Done && location.Changed(o.Location, f.Source.Store) != "":
		return failed(s, f, task.Result{Error: "the store was changed while the backup was looked at",
			Reason: v1alpha1.ReasonStoreChanged}, "")
	case o.Done && s.ObservedGeneration != f.Cluster.Generation: // the check may be of another source than the spec's now
		s.ObservedGeneration = f.Cluster.Generation
		s.Attempts++
		return Decision{RequeueAfter: time.Second}
	case o.Done && o.Result.Error == "" && o.Result.Source == nil:
		return failed(s, f, task.Result{Error: "the check of the source has reported nothing"}, "")
	case o.Done && o.Result.Error == "":
		s.External = externalStatus(f.Cluster, *o.Result.Source)
		if len(s.External.Findings) > 0 {
			return foundUnsuitable(s, f)
		}
		s.Phase, s.ObservedGeneration = v1alpha1.RestoreRestoring, f.Cluster.Generation
		s.ID, s.Location = externalID(f.Cluster), o.Location
		s.History, s.Reason = history(f.Cluster, s.ID, nil), ""
		s.Message = "filling the volume with " + describeSource(f.Cluster, s)
		return Decision{RequeueAfter: time.Second}
	case o.Done:
		return failed(s, f, o.Result, "")
	}
	wait := attemptPause(s, 1, f.Now)
	switch {
	case o.Waits != "":
		s.Reason, s.Message = v1alpha1.ReasonRestoring, o.Waits
	case s.Reason == "" || s.Reason == v1alpha1.ReasonRestoring || s.Reason == v1alpha1.ReasonCredentialsMissing:
		s.Reason, s.Message = "", firstMessage(f.Cluster)
	}
	return Decision{Find: !o.Exists && wait <= 0, RequeueAfter: min(whileWaiting, max(time.Second, wait))}
}

// foundUnsuitable reports the findings until the next check.
func foundUnsuitable(s *v1alpha1.RestoreStatus, f Facts) Decision {
	s.Reason, s.Message = v1alpha1.ReasonSourceUnsuitable, Unsuitable(s.External.Findings)
	if f.Cluster.FromBackup() != nil { // the backup itself is not judged yet
		s.Message = "the server cannot be followed. " + all(s.External.Findings)
	}
	s.Attempts++
	s.AttemptedAt = new(metav1.NewTime(f.Now))
	return Decision{RequeueAfter: initialAttemptPause}
}

// becameUnsuitable goes back to checking a source that has changed since it was checked. The next copy has another Job.
func becameUnsuitable(s *v1alpha1.RestoreStatus, f Facts, member string, is task.Source) Decision {
	s.Phase, s.External = v1alpha1.RestoreFinding, externalStatus(f.Cluster, is)
	d := foundUnsuitable(s, f)
	s.MemberAttempts[member] = s.Attempts
	return d
}

// Unsuitable names all findings.
func Unsuitable(findings []v1alpha1.ExternalFinding) string {
	return "the source cannot be copied. " + all(findings)
}

func all(findings []v1alpha1.ExternalFinding) string {
	var out []string
	for _, found := range findings {
		text := found.Name
		if len(found.Objects) > 0 {
			text += ": " + strings.Join(found.Objects, ", ")
			if more := int(found.Count) - len(found.Objects); more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
		}
		out = append(out, text+": "+found.Message)
	}
	return strings.Join(out, ". ") + ". The source is checked again every few minutes"
}

func externalStatus(c *v1alpha1.GaleraCluster, is task.Source) *v1alpha1.ExternalStatus {
	return &v1alpha1.ExternalStatus{Version: is.Version, GTID: is.GTID, Bytes: is.Bytes, Rows: is.Rows,
		Tables:             int32(is.Tables), //nolint:gosec // a count
		Plaintext:          c.Spec.BootstrapFrom.External.Host != "" && c.Spec.BootstrapFrom.External.TLS == nil,
		LockedMilliseconds: is.LockedMilliseconds, Skipped: is.Skipped, Findings: Findings(is.Findings),
		Warnings: Findings(is.Warnings)}
}

// Findings are those of a check, as a status has them.
func Findings(found []task.Finding) (out []v1alpha1.ExternalFinding) {
	for _, f := range found[:min(len(found), maxFindings)] {
		out = append(out, v1alpha1.ExternalFinding{Name: f.Name, Objects: f.Objects,
			Count: int32(f.Count), Message: f.Message}) //nolint:gosec // a count
	}
	return out
}

// describeImport reports what was copied, with what the Job has counted.
func describeImport(c *v1alpha1.GaleraCluster, s *v1alpha1.RestoreStatus) string {
	if b := c.FromBackup(); b != nil {
		at := ""
		if s.External.GTID != "" {
			at = " at " + s.External.GTID
		}
		return fmt.Sprintf("the backup %s of a server of MariaDB %s, with %s%s, is on the volume of %s, at %s", b.Path,
			s.External.Version, galera.Count(s.External.Tables, "table"), at, resources.PodName(c, 0), s.Position)
	}
	return fmt.Sprintf("copied to the volume of %[4]s, at %[5]s, and compared with the source: %[1]s with %[2]s of %[3]s",
		galera.Count(s.External.Tables, "table"), galera.Count(s.External.Rows, "row"),
		c.Spec.BootstrapFrom.External.Host, resources.PodName(c, 0), s.Position)
}

// imported takes over what a Job reports of the source.
func imported(c *v1alpha1.GaleraCluster, s *v1alpha1.RestoreStatus, o outcome.Outcome) {
	if s.External != nil && o.Result.Source != nil {
		s.External = externalStatus(c, *o.Result.Source)
	}
}
