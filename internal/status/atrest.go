package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	// sampleLasts is how long it counts that a part of each file was read, which agents do every minute.
	sampleLasts = 5 * time.Minute
	// fullLasts is how long it counts that all files were read, which agents do once a day.
	fullLasts = 48 * time.Hour
)

// encryptedAtRest is True by what the agents have read on their volumes, and by nothing else. A file in clear on one
// node counts, whatever is not known of others.
func encryptedAtRest(in Input) condition {
	files, pages, waits := int64(0), int64(0), ""
	if len(in.Snapshot.Members) == 0 {
		return unproved("there are no nodes yet")
	}
	if in.cluster().AtRestState() != v1alpha1.AtRestOn {
		return unproved("the nodes do not encrypt yet: status.atRest has what is waited for")
	}
	cache := ""
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.AtRest == nil {
			waits = cmp.Or(waits, "waiting for evidence from "+m.Name)
			continue
		}
		a := r.AtRest
		if a.Mode != agentapi.ModeEncrypts {
			waits = cmp.Or(waits, m.Name+" does not encrypt yet")
			continue
		}
		if a.ClearFiles > 0 {
			return no(v1alpha1.ReasonFilesInClear, fmt.Sprintf("%s: %d of %d files are in clear: %s. InnoDB encrypts its own "+
				"in the background; for others see docs/runbooks/GaleraNotEncryptedAtRest.md", m.Name, a.ClearFiles, a.Files,
				strings.Join(a.Clear, "; ")))
		}
		if a.CacheClear {
			cache = cmp.Or(cache, m.Name)
		}
		waits = cmp.Or(waits, missingProof(in.Now, m.Name, a))
		files, pages = files+a.Files, pages+a.Pages
	}
	switch {
	case cache != "":
		return no(v1alpha1.ReasonGCacheInClear, cache+": Galera's cache of write-sets is in clear on the volume "+
			"(spec.encryption.atRest.gcache is Clear). Set it to Memory to change that")
	case waits != "":
		return unproved(waits)
	}
	return yes(v1alpha1.ReasonProved, fmt.Sprintf(
		"observed %s: %s, %s with content, none in clear. docs/encryption.md lists what MariaDB never encrypts",
		galera.OnAllNodes(len(in.Snapshot.Members)), galera.Count(files, "file"), galera.Count(pages, "page")))
}

// missingProof explains what is not known of a node's volume, "" when all is.
func missingProof(now time.Time, member string, a *agentapi.AtRestReport) string {
	switch {
	case a.Error != "":
		return fmt.Sprintf("%s could not read its volume: %s", member, a.Error)
	case a.FullAt.IsZero() || now.Sub(a.FullSeen) > fullLasts:
		return member + " has not read all files on its volume yet"
	case a.UnknownFiles > 0:
		return fmt.Sprintf("%s: %d of %d files could not be judged: %s", member, a.UnknownFiles, a.Files,
			strings.Join(a.Unknown, "; "))
	case now.Sub(a.SampledAt) > sampleLasts:
		return member + ": no fresh evidence from its volume"
	}
	return ""
}

// setAtRest sets the condition where there is encryption at rest.
func setAtRest(status *v1alpha1.GaleraClusterStatus, in Input, set func(kind string, v condition)) {
	if in.cluster().AtRest() == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionEncryptedAtRest)
		return
	}
	set(v1alpha1.ConditionEncryptedAtRest, encryptedAtRest(in))
}

// atRestStatus records how far the data are switched, and has what each agent saw.
func atRestStatus(in Input, before *v1alpha1.AtRestStatus) *v1alpha1.AtRestStatus {
	if in.cluster().AtRest() == nil && before == nil && !observe.KeysForgotten(in.Facts) {
		return nil
	}
	if before == nil {
		before = &v1alpha1.AtRestStatus{SecretName: resources.KeysSecretName(in.cluster())}
	}
	next := nextAtRest(in, *before)
	out := &next
	out.Members = nil
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.AtRest == nil {
			continue
		}
		a := r.AtRest
		member := v1alpha1.MemberAtRestStatus{Name: m.Name, Files: a.Files, Pages: a.Pages, Clear: a.ClearFiles,
			Encrypted: a.EncryptedFiles, Unknown: a.UnknownFiles, Message: clip(cmp.Or(a.Problem, a.Error), 1024)}
		member.FullScanTime = timeOf(&a.FullAt)
		out.Members = append(out.Members, member)
	}
	return out
}
