package sites

import (
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// Settings that are refused: mariadbd does not know the first one, so that the agents refuse it, and the operator
// publishes none that the second one is among.
const (
	unknown   = "no_such_setting"
	forbidden = "wsrep_on"
)

// set has a person set a setting that is refused, or correct that.
func (w *world) set(s *site, x int) {
	names := [...]string{"", unknown, forbidden}
	name := names[x%len(names)]
	w.edit(s, "set "+name, func(c *cluster) {
		if c.Spec.MariaDB.Config = nil; name != "" {
			c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{name: {Text: "1"}}
		}
	})
}

// publishes is what the operator publishes.
func (w *world) publishes(c *cluster, published agentapi.NodeConfig) agentapi.NodeConfig {
	if published.Revision == "" {
		return w.config(validate.WithoutForbidden(c))
	}
	if validate.Settings(c, published) == nil {
		return w.config(c)
	}
	w.seen["forbidden"]++
	return w.withheld(c, published)
}

// mount is what the agent has of what kubelet has written. One that is started anew goes on with the settings that its
// server has served with.
func (w *world) mount(n *node, published agentapi.NodeConfig) {
	_, n.refuses = published.Settings[unknown]
	switch {
	case published.Revision == "":
	case !n.refuses:
		n.config = published
	case n.config.Revision == "":
	case n.agent:
		w.seen["unknown"]++
		n.config = w.writesOf(n.config, published)
	default:
		served := n.config.Settings
		n.config = published
		n.config.Settings = served
	}
}

// refused reports whether the settings of a site are.
func refused(s *site) bool { return len(s.c.Spec.MariaDB.Config) > 0 }

// heldBack is who accepts writes, or whose change of sites does not end, because settings are refused; "" for none.
// shut are the sites that are to take over, and accept no writes: whether that is why, the corrected settings show.
func (w *world) heldBack() (why string, shut []*site) {
	for _, s := range w.living() {
		up := !slices.ContainsFunc(s.nodes, func(n *node) bool { return !n.up })
		switch c := s.c; {
		case !refused(s) || s.published.Revision == "":
		case c.Refuses() && s.accepts():
			return c.Namespace + " is to refuse writes, and accepts them", nil
		case c.Switching() && !strings.Contains(c.Status.SwitchSite.Message, "kubectl patch"):
			return "the change of sites does not end: " + c.Status.SwitchSite.Message, nil
		case s.published.Identity() != w.config(c).Identity(): // only a whole configuration replaces another cluster's
		case up && c.TakesOver() && !c.Refuses() && !s.accepts():
			shut = append(shut, s)
		}
	}
	return "", shut
}

// correct has all settings be as they are to be.
func (w *world) correct() {
	for _, s := range w.living() {
		w.set(s, 0)
	}
}
