// Package increments decides which backup an increment adds to, which of some backups is the latest, and what becomes
// of a chain whose parts are damaged, expired or deleted. It is pure.
package increments

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Wanted is an increment that is to be made.
type Wanted struct {
	Backup *v1alpha1.GaleraBackup
	// Store, Directory in it and Recipients are the increment's own.
	Store      *v1alpha1.GaleraBackupStore
	Directory  string
	Recipients []string
	// Nodes may be read.
	Nodes []string
}

// Base returns the backup that an increment adds to, nil for none, and why there is none: the latest that was read from
// a node which may be read again, as an increment is of one data directory.
func Base(w Wanted, all []v1alpha1.GaleraBackup) (base *v1alpha1.GaleraBackup, why string) {
	broken, suspect := Broken(all), suspect(all)
	var found []*v1alpha1.GaleraBackup
	for i := range all {
		if o := &all[i]; eligible(w, o) && !broken[o.Status.ID] {
			found = append(found, o)
		}
	}
	found, _ = InOrder(found)
	slices.Reverse(found)
	why = "the store has no backup of the cluster to add to"
	for i, o := range found {
		unfit := unfit(w, o)
		if suspect[o.Status.ID] {
			unfit = fmt.Sprintf("%s is part of a chain that a test has found damaged", o.Name)
		}
		if unfit == "" {
			return o, ""
		}
		if i == 0 {
			why = unfit
		}
		if depth(o) >= int(w.Backup.Spec.Incremental.MaxIncrements) {
			return nil, unfit // an earlier one of the chain would make it last for ever
		}
	}
	return nil, why
}

// eligible reports whether a backup lies where the increment will, and stays there.
func eligible(w Wanted, o *v1alpha1.GaleraBackup) bool {
	return o.UID != w.Backup.UID && o.Spec.StoreRef == w.Backup.Spec.StoreRef && o.Spec.Import == nil &&
		o.Status.Phase == v1alpha1.BackupCompleted && o.Status.CompletedAt != nil && o.DeletionTimestamp == nil &&
		o.Status.Directory == w.Directory && location.Changed(o.Status.Store, w.Store) == ""
}

// unfit is why an increment cannot be one of a backup, "" when it can.
func unfit(w Wanted, o *v1alpha1.GaleraBackup) string {
	of := o.Status
	switch {
	case depth(o) >= int(w.Backup.Spec.Incremental.MaxIncrements):
		return fmt.Sprintf("%s is the last of a chain of %s", o.Name, galera.Count(depth(o), "increment"))
	case of.LSN <= 0 || of.Checksum == "":
		return fmt.Sprintf("%s names no LSN that an increment could begin at", o.Name)
	case !slices.Equal(slices.Sorted(slices.Values(of.Recipients)), slices.Sorted(slices.Values(w.Recipients))):
		return fmt.Sprintf("the store's recipients have changed since %s", o.Name)
	case !slices.Contains(w.Nodes, of.Node):
		return fmt.Sprintf("%s was read from %s, which is the primary, or cannot be read now", o.Name, of.Node)
	}
	return ""
}

func depth(b *v1alpha1.GaleraBackup) int {
	if b.Status.Incremental == nil {
		return 0
	}
	return int(b.Status.Incremental.Depth)
}

// baseOf is the ID of the backup that one adds to, "" for a full one, and for one of which nothing is stored.
func baseOf(b *v1alpha1.GaleraBackup) string {
	if b.Status.Incremental == nil || b.Status.Phase == v1alpha1.BackupFailed {
		return ""
	}
	return b.Status.Incremental.Base
}

// AddsTo reports whether a backup adds to the one of an ID, directly or not. It may, where the object of one between
// them is gone.
func AddsTo(all []v1alpha1.GaleraBackup, b *v1alpha1.GaleraBackup, id string) bool {
	base := baseOf(b)
	for range manifest.MaxDepth {
		if base == "" || base == id {
			break
		}
		i := slices.IndexFunc(all, func(o v1alpha1.GaleraBackup) bool { return o.Status.ID == base })
		if i < 0 {
			return true
		}
		base = baseOf(&all[i])
	}
	return base != "" && base == id
}

// Broken returns the IDs of the backups that cannot be restored: a test has found them damaged, or one that they add
// to.
func Broken(all []v1alpha1.GaleraBackup) map[string]bool {
	out := map[string]bool{}
	for i := range all {
		if all[i].Damaged() && all[i].Status.ID != "" {
			out[all[i].Status.ID] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range all {
			if b := &all[i]; b.Status.ID != "" && !out[b.Status.ID] && out[baseOf(b)] {
				out[b.Status.ID], again = true, true
			}
		}
	}
	return out
}

// suspect returns the IDs of the backups of all chains of which a part was found damaged: the damage that a test has
// found in an increment may be that of a backup which it adds to, and which was good when it was tested itself.
func suspect(all []v1alpha1.GaleraBackup) map[string]bool {
	out := Broken(all)
	for again := true; again; {
		again = false
		for i := range all {
			id, base := all[i].Status.ID, baseOf(&all[i])
			if id != "" && base != "" && out[id] != out[base] {
				out[id], out[base], again = true, true, true
			}
		}
	}
	return out
}

// NeededBy names a backup that adds to another one, "" for none. One that is being made counts.
func NeededBy(all []v1alpha1.GaleraBackup, b *v1alpha1.GaleraBackup) string {
	for i := range all {
		if o := &all[i]; o.UID != b.UID && b.Status.ID != "" && baseOf(o) == b.Status.ID {
			return o.Name
		}
	}
	return ""
}

// Needless returns those of some expired backups that no backup which is kept adds to, directly or not.
func Needless(expired []*v1alpha1.GaleraBackup, all []v1alpha1.GaleraBackup) []*v1alpha1.GaleraBackup {
	out := slices.Clone(expired)
	for {
		needed := map[string]bool{}
		for i := range all {
			b := &all[i]
			if !slices.ContainsFunc(out, func(o *v1alpha1.GaleraBackup) bool { return o.UID == b.UID }) {
				needed[baseOf(b)] = true
			}
		}
		before := len(out)
		out = slices.DeleteFunc(out, func(o *v1alpha1.GaleraBackup) bool { return o.Status.ID != "" && needed[o.Status.ID] })
		if len(out) == before {
			return out
		}
	}
}
