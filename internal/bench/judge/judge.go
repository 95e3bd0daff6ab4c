// Package judge says whether a run counts.
package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// Limits of what is put up with.
type Limits struct {
	// FailedPercent is the share of failed operations above which a run does not count.
	FailedPercent float64
}

// Run judges one finished run.
func Run(o *wire.Output, l Limits) wire.Verdict {
	if o == nil {
		return wire.Verdict{Reason: "the Job left no result"}
	}
	// What happened to nodes comes first: the load generator's complaint is only what follows from it.
	for _, look := range []func(*wire.Output, Limits) string{members, noticed, failed, transfer, throttled, failures, key} {
		if why := look(o, l); why != "" {
			return wire.Verdict{Reason: why}
		}
	}
	return wire.Verdict{Valid: true}
}

func failed(o *wire.Output, _ Limits) string {
	switch {
	case o.Error != "":
		return o.Error
	case o.Operations() == 0:
		return "nothing was done in the measured time"
	}
	return ""
}

// transfer was to be a full one.
func transfer(o *wire.Output, _ Limits) string {
	if o.Transfer != nil && o.Transfer.Kind != "SST" {
		return fmt.Sprintf("the node came back by %s instead of a full transfer", o.Transfer.Kind)
	}
	return ""
}

// members compares both ends of the window: a view that changed, or a server that is another one now.
// A transfer of state changes the view on purpose.
func members(o *wire.Output, _ Limits) string {
	if o.Transfer != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		w := o.Members[name]
		switch {
		case len(w.Before) == 0 || len(w.After) == 0:
			return name + " did not answer at the end or the beginning of the run"
		case w.Before[wire.MetricStarted] != w.After[wire.MetricStarted]:
			return name + " was restarted during the run"
		case w.Before[wire.MetricView] != w.After[wire.MetricView]:
			return "a node left or joined during the run (seen by " + name + ")"
		case w.After[wire.MetricSynced] == 0 || w.Before[wire.MetricSynced] == 0:
			return name + " was not Synced"
		}
	}
	return ""
}

// noticed is what the runner saw in between.
func noticed(o *wire.Output, _ Limits) string {
	if o.Transfer != nil || len(o.Noticed) == 0 {
		return ""
	}
	return strings.Join(o.Noticed[:min(3, len(o.Noticed))], "; ")
}

func throttled(o *wire.Output, _ Limits) string {
	if o.Client.Throttled > 0 {
		return fmt.Sprintf("the client ran into its CPU limit (%g periods)", o.Client.Throttled)
	}
	if o.Transfer != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		w := o.Members[name]
		if n := w.After[wire.MetricThrottled] - w.Before[wire.MetricThrottled]; n > 0 {
			return fmt.Sprintf("%s ran into its CPU limit (%g periods)", name, n)
		}
	}
	return ""
}

func failures(o *wire.Output, l Limits) string {
	bad, all := 0.0, o.Operations()
	switch {
	case o.OLTP != nil:
		bad = float64(o.OLTP.Errors + o.OLTP.Reconnects)
	case o.Connect != nil:
		bad = float64(o.Connect.Errors)
	}
	if share := 100 * bad / (all + bad); share > l.FailedPercent {
		return fmt.Sprintf("%.1f %% of the transactions failed (limit: %g %%)", share, l.FailedPercent)
	}
	return ""
}

// key compares the certificate that was presented with the arm's.
func key(o *wire.Output, _ Limits) string {
	if o.Connect == nil || o.Connect.LastError == "" || o.Connect.Connections > 0 {
		return ""
	}
	return o.Connect.LastError
}
