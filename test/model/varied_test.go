package model

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// unvaried are the facts of a Snapshot that this world does not vary yet, so that no promise is checked against them.
// Table tests of internal/plan have them. A fact that is added is varied here, or stands in this list.
var unvaried = []string{
	"Snapshot.Namespace", "Snapshot.Name", "Snapshot.RestartsWait",
	"Member.KeepsOldKey", "Member.CacheWindow", "Member.Leaseless", "Member.TLSProblem", "Member.ServerVersion",
}

// TestEveryFactIsVaried: a fact that is always the same in the model keeps whole decisions from ever being checked.
func TestEveryFactIsVaried(t *testing.T) {
	t.Parallel()
	first, varied := map[string]string{}, map[string]bool{}
	note := func(v reflect.Value) {
		for i := range v.NumField() {
			name := v.Type().Name() + "." + v.Type().Field(i).Name
			if varied[name] {
				continue
			}
			now := fmt.Sprint(v.Field(i).Interface())
			if before, ok := first[name]; ok && before != now {
				varied[name] = true
			}
			first[name] = now
		}
	}
	watch := func(s galera.Snapshot) plan.Decision {
		note(reflect.ValueOf(s))
		for _, m := range s.Members {
			note(reflect.ValueOf(m))
			note(reflect.ValueOf(m.Pod))
			if m.Server != nil {
				note(reflect.ValueOf(*m.Server))
			}
		}
		return plan.Plan(s)
	}
	for seed := range uint64(8 * len(allWeights) * arbiters) {
		Run(Draw(seed, 90), watch)
	}
	for _, r := range rareRegressions {
		Run(r.Schedule, watch)
	}
	for name := range first {
		switch listed := slices.Contains(unvaried, name); {
		case !varied[name] && !listed:
			t.Errorf("%s is always %q in the model", name, first[name])
		case varied[name] && listed:
			t.Logf("%s is varied now: it need not be listed", name)
		}
	}
}
