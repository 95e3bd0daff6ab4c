package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestSourceFacts: the cluster stays with a source that has a connection, whichever member runs the channel, and goes
// on to the next one without.
func TestSourceFacts(t *testing.T) {
	three := []agentapi.Endpoint{{Host: "a", Port: 3306}, {Host: "b", Port: 3306}, {Host: "b", Port: 3307}}
	views := func(of ...agentapi.PeerView) map[string]agentapi.PeerView {
		out := map[string]agentapi.PeerView{}
		for i, v := range of {
			out[string(rune('x'+i))] = v
		}
		return out
	}
	runs := func(source string) agentapi.PeerView {
		return agentapi.PeerView{Channel: agentapi.TaskOn, ChannelSource: source}
	}
	knows := func(source string) agentapi.PeerView {
		return agentapi.PeerView{Channel: agentapi.TaskOff, ChannelSource: source}
	}
	for name, tc := range map[string]struct {
		of   SourceFacts
		want string
	}{
		"nothing is known":        {SourceFacts{}, "a:3306"},
		"the own one":             {SourceFacts{Own: "b:3306"}, "b:3306"},
		"the own one has gone":    {SourceFacts{Own: "d:3306"}, "a:3306"},
		"another member runs it":  {SourceFacts{Own: "a:3306", Others: views(knows("a:3306"), runs("b:3307"))}, "b:3307"},
		"another one has run it":  {SourceFacts{Others: views(knows(""), knows("b:3306"))}, "b:3306"},
		"the own one is newer":    {SourceFacts{Own: "b:3307", Others: views(knows("b:3306"))}, "b:3307"},
		"it runs here":            {SourceFacts{Own: "b:3306", Opens: true, Others: views(runs("a:3306"))}, "b:3306"},
		"it has a connection":     {SourceFacts{Own: "a:3306", Opens: true}, "a:3306"},
		"it has had none for 29s": {SourceFacts{Own: "a:3306", Opens: true, Lost: 29 * time.Second}, "a:3306"},
		"it has had none for 30s": {SourceFacts{Own: "a:3306", Opens: true, Lost: SourceTime}, "b:3306"},
		"another port":            {SourceFacts{Own: "b:3306", Opens: true, Lost: SourceTime}, "b:3307"},
		"the last one":            {SourceFacts{Own: "b:3307", Opens: true, Lost: SourceTime}, "a:3306"},
		"it is not to run here":   {SourceFacts{Own: "a:3306", Lost: time.Hour}, "a:3306"},
	} {
		tc.of.Sources = three
		if got := tc.of.Source().String(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestLacks: a server has a transaction when it has that of the same server, or a later one of it.
func TestLacks(t *testing.T) {
	for name, tc := range map[string]struct{ state, position, want string }{
		"the same":                     {"0-1-7", "0-1-7", ""},
		"more":                         {"0-1-9,3-7-2", "0-1-7", ""},
		"less":                         {"0-1-6", "0-1-7", "0-1-7"},
		"that of another server":       {"0-2-9", "0-1-7", "0-1-7"},
		"as many of two servers":       {"0-1-7,0-2-9", "0-1-7", ""},
		"the number of another domain": {"1-1-9", "0-1-7", "0-1-7"},
		"one of two domains":           {"0-1-9,1-1-3", "0-1-7,1-1-4", "1-1-4"},
		"both":                         {"0-1-9,\n1-1-4", "0-1-7, 1-1-4", ""},
		"no binary log":                {"", "0-1-7", "0-1-7"},
		"no position":                  {"0-1-7", "", "an unknown position"},
		"nonsense":                     {"0-1-7", "0-1", "0-1"},
	} {
		if got := Lacks(tc.state, tc.position); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := Lacks("0-1-7", "0-1-8", "0-1-8", "0-2-1"); got != "0-1-8, 0-2-1" {
		t.Errorf("two positions: %q", got)
	}
}
