package screen

import (
	"fmt"
	"strconv"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin/related"
)

// proxies is a table of the proxies, and of their connections to each node.
func proxies(r *related.Report, s Style) string {
	if r == nil || len(r.Proxied) == 0 {
		return ""
	}
	rows := [][]cell{{plain("PROXY"), plain("PODS"), plain("CLIENTS"), plain("WAITING"), plain("NODE"), plain("ROLE"),
		plain("USED"), plain("FREE"), plain("REUSED")}}
	for _, p := range r.Proxied {
		ready, waiting := cell{fmt.Sprintf("%d of %d", p.Ready, p.Pods), green}, plain(strconv.FormatInt(p.Waiting, 10))
		if p.Ready < p.Pods {
			ready.colour = yellow
		}
		if p.Waiting > 0 {
			waiting.colour = yellow
		}
		head := []cell{plain(p.Name), ready, plain(strconv.FormatInt(p.Clients, 10)), waiting}
		if len(p.Pools) == 0 {
			rows = append(rows, append(head, plain(""), plain(""), plain(""), plain(""), plain("")))
		}
		for _, pool := range p.Pools {
			rows = append(rows, append(head, plain(pool.Name), plain(pool.Role), plain(strconv.FormatInt(pool.Used, 10)),
				plain(strconv.FormatInt(pool.Free, 10)), plain(reused(pool))))
			head = []cell{plain(p.Name), plain(""), plain(""), plain("")}
		}
	}
	const role, free, share = 5, 7, 8
	return "\n" + s.table(rows, free, role, share)
}

// reused is the share of statements that needed no new connection to the node.
func reused(p v1alpha1.ProxyPoolStatus) string {
	if p.Queries == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", 100*(p.Queries-min(p.Opened, p.Queries))/p.Queries) // rounded down: 100 means all
}
