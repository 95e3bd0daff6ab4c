package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLongFailure: kubelet cuts off no failure of a restore, whatever it quotes: that it is final would be lost.
func TestLongFailure(t *testing.T) {
	for _, said := range []string{"x", "\"<", "é\n"} {
		text, err := encode(task.Result{Error: strings.Repeat(said, 4096), Reason: task.ReasonBackupDamaged, Fatal: true})
		if err != nil {
			t.Fatal(err)
		}
		var r task.Result
		if err := json.Unmarshal(text, &r); err != nil || len(text) > maxFailure || !r.Fatal || len(r.Error) < 256 {
			t.Errorf("%q: %d bytes, %v, %+v", said, len(text), err, r)
		}
	}
}
