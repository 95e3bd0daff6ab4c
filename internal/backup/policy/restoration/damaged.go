package restoration

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// maxDamaged bounds how many damaged backups a Job is given, the latest ones: they are in its environment.
const maxDamaged = 300

// broken are the known backups that a test has found damaged, or what they add to, the latest first.
func (s Source) broken() (out []*v1alpha1.GaleraBackup) {
	ids := increments.Broken(s.Known)
	for i := range s.Known {
		if b := &s.Known[i]; ids[b.Status.ID] {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.GaleraBackup) int {
		return -cmp.Or(cmp.Compare(a.Status.ID, b.Status.ID), cmp.Compare(a.Status.Directory, b.Status.Directory),
			cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Damaged are the directories, with the ID, of the backups that are left out where they are looked for; nil where a
// backup is named.
func (s Source) Damaged() (out []string) {
	if s.Find.ID != "" {
		return nil
	}
	for _, b := range s.broken() {
		below := b.Status.Directory == s.Find.Dir || strings.HasPrefix(b.Status.Directory, s.Find.Dir+"/")
		if at := path.Join(b.Status.Directory, b.Status.ID); below && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out[:min(len(out), maxDamaged)]
}

// FoundDamaged reports that a test has found the backup damaged that a Job has found, "" when none has, and for one
// that is named: a Job that looks again leaves it out.
func (s Source) FoundDamaged(found *task.Stored) string {
	if found == nil || s.Find.ID != "" {
		return ""
	}
	return s.damage(found.Dir, found.ID)
}

// damage reports that a test has found a backup damaged, or what it adds to, "" when none has.
func (s Source) damage(dir, id string) string {
	for _, b := range s.broken() {
		if b.Status.ID == id && b.Status.Directory == dir {
			return fmt.Sprintf("a test has found the backup %s, or what it adds to, damaged (GaleraBackup %s)", id, b.Name)
		}
	}
	return ""
}

// Caution is what a message adds about the backup that is restored: it is damaged, or the latest one was left out
// because that is. The archive leads from an earlier one to the same point.
func (s Source) Caution(dir, id string, replayed bool) string {
	if why := s.damage(dir, id); why != "" {
		return "; " + why + ": its data may be incomplete or wrong"
	}
	for _, b := range s.broken() {
		if s.Find.ID == "" && !replayed && b.Status.Directory == dir && b.Status.ID > id { // IDs begin with the time
			return fmt.Sprintf("; it is not the latest one: a test has found the backup %s, or what it adds to, damaged "+
				"(GaleraBackup %s)", b.Status.ID, b.Name)
		}
	}
	return ""
}
