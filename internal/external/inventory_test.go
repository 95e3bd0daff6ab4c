package external

import "testing"

// TestRenamed: a column of 10.5 has the collation that its copy has.
func TestRenamed(t *testing.T) {
	for is, want := range map[string]string{"utf8_general_ci": "utf8mb3_general_ci", "utf8_bin": "utf8mb3_bin",
		"utf8mb3_bin": "utf8mb3_bin", "utf8mb4_bin": "utf8mb4_bin", "": ""} {
		if got := renamed(is); got != want {
			t.Errorf("%q is called %q, not %q", is, got, want)
		}
	}
}
