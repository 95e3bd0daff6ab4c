package runner

import (
	"fmt"
	"path"
	"slices"

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

// leftOut names the backups that were left out, and how one is restored all the same.
func leftOut(left []string) error {
	return fmt.Errorf("a test has found %s damaged, or what they add to: they are left out. To begin with one of them "+
		"all the same, set id to the last part of its name here", some(left))
}
