package status

import (
	"cmp"
	"fmt"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// blockedStatement reports a statement of the group's order that waits on a node for a lock: until a person ends the
// connection that holds it, the writes of all nodes wait.
func blockedStatement(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && r.Blocked != nil && m.InPrimary() {
			return blocking(v1alpha1.ReasonStatementBlocked, blockedMessage(m, *r.Blocked))
		}
	}
	return nil
}

func blockedMessage(m galera.Member, b agentapi.Blocked) string {
	text := fmt.Sprintf("%s: a statement that all nodes carry out in the same order has been waiting for a lock%s for "+
		"more than %s, and the writes of all nodes wait behind it. ", m.Name, on(b.Table), sinceAbout(b.For))
	h := b.Holder
	if h == nil {
		return text + "Which connection holds the lock is not known, as the server runs without the plugin " +
			"metadata_lock_info; it is loaded at the next start if the image has it. End the connections on this node that " +
			"have locked tables: SHOW OPEN TABLES WHERE In_use > 0, and SHOW FULL PROCESSLIST, as root"
	}
	doing := "which carries out a statement"
	if h.Idle {
		doing = "which is idle"
	}
	return text +
		fmt.Sprintf("The connection %d of the user %s from %s, %s, has held the lock for more than %s. Unlock its "+
			"tables there, or run KILL %d on this node, as root", h.ID, cmp.Or(clip(h.User, 128), "(unknown)"),
			cmp.Or(clip(h.Host, 128), "(unknown)"), doing, sinceAbout(h.Held), h.ID)
}

func on(table string) string {
	if table == "" {
		return ""
	}
	return " on " + clip(table, 129)
}

// sinceAbout changes rarely: a message that changes is another write of the status.
func sinceAbout(d time.Duration) time.Duration {
	return max(d.Truncate(30*time.Second), agentapi.BlockedAfter)
}
