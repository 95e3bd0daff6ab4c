package model

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestBookKeepsWhatTheAgentsBookDecides: the world's compact order book loses nothing of the agent's that decides, as
// long as it has space for it.
func TestBookKeepsWhatTheAgentsBookDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c orders.Content
		epoch := int64(0)
		for k := range rapid.IntRange(0, remembered).Draw(t, "orders") {
			epoch += int64(rapid.IntRange(0, 2).Draw(t, "later"))
			o := agentapi.Order{ID: string(rune('a' + k)), Epoch: epoch + 1, Kind: rapid.SampledFrom(agentOrders[:]).
				Draw(t, "kind")}
			if rapid.Bool().Draw(t, "refused") {
				c.Refuse(o, "", noTime)
				continue
			}
			c.Accept(o, noTime)
			if rapid.Bool().Draw(t, "ends") {
				c.Finish(o.ID, agentapi.OrderDone, "", noTime)
			}
		}
		for range rapid.IntRange(0, len(lines{})-1).Draw(t, "lines") {
			epoch++
			line := galera.Line{Epoch: epoch, Start: galera.Position{UUID: galera.ZeroUUID,
				Seqno: int64(rapid.IntRange(0, 9).Draw(t, "start"))}}
			if c.Lineage.Epoch == 0 && rapid.Bool().Draw(t, "whole") {
				c.SetLineage(galera.FirstLine(line))
				continue
			}
			c.BeginLine(line)
		}
		var b book
		b.take(c)
		got := b.content(galera.ZeroUUID)
		same := got.HighestEpoch == c.HighestEpoch && got.Held == c.Held && got.Formed == c.Formed &&
			len(got.Records) == len(c.Records) &&
			got.Lineage.Equal(c.Lineage) && (got.Lineage.Earlier == nil) == (c.Lineage.Earlier == nil)
		for k := range min(len(c.Records), len(got.Records)) {
			g, w := got.Records[k], c.Records[k]
			same = same && g.ID == w.ID && g.Epoch == w.Epoch && g.Kind == w.Kind && g.State == w.State
		}
		if !same {
			t.Fatalf("%+v\nbecame %+v", c, got)
		}
	})
}
