package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits above which a run is invalid.
type Limits struct {
	// FailedPercent is the share of failed operations above which a run does not count.
	FailedPercent float64
	// Writes reports whether every transaction of the workload changes data.
	Writes bool
}

// Judge reports whether a finished run counts.
func Judge(o *Output, l Limits) Verdict {
	if o == nil {
		return Verdict{Reason: "the Job left no result"}
	}
	// rejoined is in operation.go, carried in carried.go. What happened to nodes comes first: the load generator's
	// complaint is only what follows from it.
	for _, check := range []func(*Output, Limits) string{members, noticed, failed, transfer, rejoined, throttled, failures,
		resumption, carried} {
		if why := check(o, l); why != "" {
			return Verdict{Reason: why}
		}
	}
	return Verdict{Valid: true}
}

func failed(o *Output, _ Limits) string {
	switch {
	case o.Error != "":
		return o.Error
	case o.Operations() == 0:
		return "nothing was done in the measured time" + lastError(o)
	}
	return ""
}

// lastError is what the client said last: it reports why, where a number of failures does not.
func lastError(o *Output) string {
	switch {
	case o.Connect != nil && o.Connect.LastError != "":
		return "; the client's last error: " + o.Connect.LastError
	case o.Answers != nil && o.Answers.LastError != "":
		return "; the client's last error: " + o.Answers.LastError
	case o.Operation != nil && o.Operation.LastError != "":
		return "; the client's last error: " + o.Operation.LastError
	}
	return ""
}

// transfer was to be a full one.
func transfer(o *Output, _ Limits) string {
	if o.Transfer != nil && o.Transfer.Kind != "SST" {
		return fmt.Sprintf("the node came back by %s instead of a full transfer", o.Transfer.Kind)
	}
	return ""
}

// members compares both ends of the window.
func members(o *Output, _ Limits) string {
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		if why := member(o, name, o.Members[name]); why != "" {
			return why
		}
	}
	return ""
}

// member describes what happened to one node: it is another server now, or has seen nodes come or go. A transfer makes
// some of it on purpose: the node it is about is another one after it, the view changes, and who gave the data may
// still catch up.
func member(o *Output, name string, w Window) string {
	t := o.Transfer
	gave := t != nil && (t.Donor == name || t.Donor == "") || o.Gives()
	switch {
	case len(w.Before) == 0 || len(w.After) == 0:
		return name + " did not answer at the end or the beginning of the run"
	case w.Before[MetricStarted] != w.After[MetricStarted] && !o.Victim(name) && !o.Restarts(name):
		return name + " was restarted during the run"
	case w.Before[MetricView] != w.After[MetricView] && !o.Rejoins():
		return "a node left or joined during the run (seen by " + name + ")" + starved(o)
	case w.Before[MetricSynced] == 0 || w.After[MetricSynced] == 0 && !gave:
		return name + " was not Synced"
	}
	return ""
}

// starvedAfter is how long a node's agent has waited for a processor when that may be why the others evicted the node.
// Galera's members are patient for five seconds; the agent of a node is not always late when its server is.
const starvedAfter = 1.0

// starved names the nodes that got no processor for a while, and what helps against that.
func starved(o *Output) string {
	var late []string
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		if seconds := o.Members[name].After[MetricLate]; seconds >= starvedAfter {
			late = append(late, fmt.Sprintf("%s for %.1f s", name, seconds))
		}
	}
	if len(late) == 0 {
		return ""
	}
	return "; no processor time: " + strings.Join(late, ", ") + " (docs/design/busy-hosts.md)"
}

// noticed is what the runner saw in between.
func noticed(o *Output, _ Limits) string {
	return strings.Join(o.Noticed[:min(3, len(o.Noticed))], "; ")
}

func throttled(o *Output, _ Limits) string {
	if o.Client.Throttled > 0 {
		return fmt.Sprintf("the client ran into its CPU limit (%g periods)", o.Client.Throttled)
	}
	if o.Proxy.Throttled > 0 {
		return fmt.Sprintf("the pooling proxy ran into its CPU limit (%g periods)", o.Proxy.Throttled)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		w := o.Members[name]
		n := w.After[MetricThrottled]
		if !o.Victim(name) && (!o.Restarts(name) || n >= w.Before[MetricThrottled]) {
			// else its container is another one, which began at zero
			n -= w.Before[MetricThrottled]
		}
		if n > 0 {
			return fmt.Sprintf("%s ran into its CPU limit (%g periods)", name, n)
		}
	}
	return ""
}

func failures(o *Output, l Limits) string {
	what, bad, all := "transactions", 0.0, o.Operations()
	switch {
	case o.OLTP != nil:
		bad = float64(o.OLTP.Errors + o.OLTP.Reconnects)
	case o.Connect != nil:
		what, bad = "connections", float64(o.Connect.Errors)
	case o.Answers != nil:
		what, bad = "queries", float64(o.Answers.Errors)
	case o.Operation != nil:
		bad = float64(o.Operation.Errors)
	case o.Transfer != nil:
		bad, all = ofLoad(o.Transfer)
	}
	if share := 100 * bad / (all + bad); share > l.FailedPercent {
		return fmt.Sprintf("%.1f %% of the %s failed (limit: %g %%)%s", share, what, l.FailedPercent, lastError(o))
	}
	return ""
}

// ofLoad counts the transactions alongside a transfer: those that failed, and those that were made.
func ofLoad(t *TransferFacts) (bad, all float64) {
	for _, p := range t.Series {
		bad, all = bad+p.Errors+p.Reconnects, all+p.TPS
	}
	return bad, all
}

// resumption was to happen, or not to.
func resumption(o *Output, _ Limits) string {
	c := o.Connect
	switch {
	case c == nil:
		return ""
	case c.Resumption == ResumptionOn && c.Resumed == 0:
		return "the server resumed no TLS session, and the workload wants sessionResumption On"
	case c.Resumption == ResumptionOff && c.Resumed > 0:
		return fmt.Sprintf("%d TLS sessions were resumed, and the workload wants sessionResumption Off", c.Resumed)
	}
	return ""
}
