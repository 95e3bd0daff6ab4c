package config

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestRefusalIsReported: a member reports for what its configuration has it refuse writes, which may be lost elsewhere.
func TestRefusalIsReported(t *testing.T) {
	c := configure(t)
	c.publish("r1", settings{})
	of := agentapi.Refusal{Switching: 7, SwitchingIn: `{"kind":"S3"}`, SupersededBy: `{"id":"4-bbbbbbbb"}`}
	for refuse, want := range map[bool]agentapi.Refusal{true: of, false: {}} {
		c.Node.Refuse, c.Node.Refusal = refuse, of
		var r agentapi.Report
		if c.Report(&r); r.Refusal != want {
			t.Errorf("%v: %+v", refuse, r.Refusal)
		}
	}
}
