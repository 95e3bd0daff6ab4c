package agentapi

import "testing"

// TestNativeHash checks against what MariaDB's PASSWORD('password') returns.
func TestNativeHash(t *testing.T) {
	if got := NativeHash("password"); got != "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19" {
		t.Error(got)
	}
}

func TestRootPassword(t *testing.T) {
	for _, c := range [][2]string{{"a b ", "a b "}, {"a\n", "a"}, {"a\r\n", "a"}, {"a\nb\n", "a\nb"}, {"", ""}} {
		if got := RootPassword([]byte(c[0])); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
