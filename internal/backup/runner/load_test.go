package runner

import "testing"

// TestLoadName: a Job that is deleted is made again for the same attempt, and does not meet the tables of the one
// before.
func TestLoadName(t *testing.T) {
	if a, b := loadName(2), loadName(2); a == b || len(loadName(1<<31-1)) > 24 {
		t.Errorf("%s, %s", a, b)
	}
}
