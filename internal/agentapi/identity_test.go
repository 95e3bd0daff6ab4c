package agentapi

import (
	"strings"
	"testing"
)

var shop = Identity{Namespace: "prod", Cluster: "shop", UID: "6b4c1a52-0000-11f0-a000-000000000001"}

func TestIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		other          Identity
		peer, excludes bool
	}{
		"itself":              {shop, true, false},
		"created again":       {Identity{"prod", "shop", "another"}, false, false},
		"a copied namespace":  {Identity{"staging", "shop", shop.UID}, false, true},
		"another name":        {Identity{"prod", "shop2", shop.UID}, false, true},
		"one that is too new": {Identity{Namespace: "prod"}, true, true},
		"of nowhere":          {Identity{}, false, true},
	} {
		if got := shop.Peer(c.other); got != c.peer {
			t.Errorf("%s: peer %v", name, got)
		}
		if got := shop.Excludes(c.other); got != c.excludes {
			t.Errorf("%s: excludes %v", name, got)
		}
	}
	if (Identity{}).Excludes(shop) {
		t.Error("data that were never recorded belong to the first cluster that uses them")
	}
}

func TestCheckNamespace(t *testing.T) {
	n := NodeConfig{Namespace: "prod", Cluster: "shop", UID: shop.UID}
	if err := n.CheckNamespace("prod"); err != nil {
		t.Error(err)
	}
	err := n.CheckNamespace("staging")
	if err == nil || !strings.Contains(err.Error(), "prod/shop") || !strings.Contains(err.Error(), "bootstrapFrom") {
		t.Errorf("%v", err)
	}
}

func TestGroup(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range []NodeConfig{
		{Namespace: "prod", Cluster: "shop", UID: shop.UID},
		{Namespace: "staging", Cluster: "shop", UID: shop.UID},
		{Namespace: "prod", Cluster: "shop", UID: "7b4c1a52-0000-11f0-a000-000000000001"},
		{Namespace: strings.Repeat("n", 63), Cluster: strings.Repeat("c", 40), UID: shop.UID},
	} {
		g := n.Group()
		if len(g) > longestGroup || seen[g] {
			t.Errorf("%q", g)
		}
		seen[g] = true
	}
	if !seen["prod.shop.6b4c1a52"] {
		t.Errorf("%v", seen)
	}
}
