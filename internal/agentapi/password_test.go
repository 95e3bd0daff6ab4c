package agentapi

import "testing"

// TestNativeHash checks against what MariaDB's PASSWORD('password') returns.
func TestNativeHash(t *testing.T) {
	if got := NativeHash("password"); got != "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19" {
		t.Error(got)
	}
}
