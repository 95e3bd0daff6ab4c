package result

import (
	"fmt"
	"maps"
	"slices"
)

// fewTransactions may all be younger than the agents' last check of the counters.
const fewTransactions = 100

// carried is the proof by byte counters: what was written went over the group's channel, whose encryption was
// observed. By any other way, or by none, it would prove nothing of the run.
func carried(o *Output, l Limits) string {
	if o.OLTP == nil || !o.ReportsReceipts() {
		return ""
	}
	all := o.Receipts()
	sent := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if r.Missed() {
			return fmt.Sprintf(
				"%s received %.1f of the %.1f MB the other nodes replicated: what was written did not go over the channel whose "+
					"encryption is proved", name, r.Got/1e6, r.Due/1e6)
		}
		sent = sent || r.Due > 0
	}
	switch {
	case !l.Writes || o.OLTP.Transactions < fewTransactions:
		return ""
	case all == nil:
		return "not every node reported how many bytes it replicated and received: it is not proved which way the data went"
	case !sent:
		return "no node replicated anything: what was written did not go over the channel whose encryption is proved"
	}
	return ""
}
