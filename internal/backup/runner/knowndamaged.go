package runner

import (
	"fmt"
	"path"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// knownDamaged returns those of some backups that a test has found damaged, and the increments of them, as long as the
// task names no backup. It is pure.
func knownDamaged(found []place, t task.Find) (out []string) {
	if t.ID != "" {
		return nil
	}
	is := func(dir, id string) bool {
		return slices.Contains(t.Damaged, path.Join(dir, id)) || slices.Contains(out, path.Join(dir, id))
	}
	for again := true; again; {
		again = false
		for _, p := range found {
			if at := p.path(); !slices.Contains(out, at) && (is(p.dir, p.id) || p.base != "" && is(p.dir, p.base)) {
				out, again = append(out, at), true
			}
		}
	}
	return out
}

func (p place) path() string { return path.Join(p.dir, p.id) }

// exclude leaves out the backups in some directories.
func exclude(found []place, left []string) (out []place) {
	for _, p := range found {
		if !slices.Contains(left, p.path()) {
			out = append(out, p)
		}
	}
	return out
}

// notGiven returns those of some backups whose manifests the store does not give out, as long as the task names a time,
// or the end of the archive, and no backup: the archive leads there from any earlier one, too. What a GTID means, a
// later backup may decide. It is pure.
func notGiven(found []place, t task.Find) (out []string) {
	if t.ID != "" || t.Target == nil || t.Target.GTID != (binlog.GTID{}) {
		return nil
	}
	damaged := knownDamaged(found, t)
	for _, p := range found {
		if p.refused && !slices.Contains(damaged, p.path()) {
			out = append(out, p.path())
		}
	}
	return out
}

// leftOut names the backups that were left out, and what to do where one of them is needed; nil for none. It is pure.
func leftOut(found []place, t task.Find) (reason string, why error) {
	if left := knownDamaged(found, t); len(left) > 0 {
		do := "Make another backup"
		if t.IDField != "" {
			do = "To begin with one of them all the same, set " + t.IDField + " to the last part of its name here"
		}
		reason, why = task.ReasonBackupDamaged, fmt.Errorf(
			"a test has found %s damaged, or what they add to: they are left out. %s", some(left), do)
	}
	left := notGiven(found, t)
	if len(left) == 0 {
		return reason, why
	}
	do := "Make them readable"
	if t.Target.Latest { // any later backup leads to the end of the archive
		do += ", or make another backup"
	}
	first := found[slices.IndexFunc(found, func(p place) bool { return p.path() == left[0] })]
	refused := fmt.Errorf("the store does not give out the manifests of %s (%w): they are left out, with what adds to "+
		"them. %s", some(left), first.broken, do)
	if why != nil {
		refused = fmt.Errorf("%w; %w", refused, why)
	}
	return task.ReasonStoreRefused, refused
}
