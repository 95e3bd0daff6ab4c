package measure

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/usage"
)

// hosts answers as agents on two of them do; the third one is silent.
type hosts map[string]string

// RoundTrip answers for one node.
func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	text, is := h[r.URL.Hostname()]
	if !is {
		return nil, errors.New("no answer")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// TestEnvironmentOfAllNodes: each node's host is reported, and the client's own alongside them.
func TestEnvironmentOfAllNodes(t *testing.T) {
	r := &runner{target: target{plan: result.Plan{Members: []result.Member{{Name: "x-0", Host: "127.0.0.1"},
		{Name: "x-1", Host: "x-1"}, {Name: "x-2", Host: "x-2"}}}}}
	r.agents = newAgents(r.plan.Members)
	r.agents.client.Transport = hosts{
		"127.0.0.1": "galera_agent_info{server=\"11.8\",provider=\"26.4\"} 1\ngalera_host_cpus{model=\"Big\",flags=\"aes " +
			"avx2\"} 64\ngalera_kernel_info{release=\"6.1\"} 1\n",
		"x-1": "galera_host_cpus{model=\"Small\",flags=\"aes\"} 2\n", // of an agent that reports no kernel
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // there is no database to be asked
	r.environment(ctx)
	e := r.out.Environment
	want := map[string]result.Machine{"x-0": {Kernel: "6.1", CPU: "Big", CPUs: 64, CPUFlags: "aes avx2"},
		"x-1": {CPU: "Small", CPUs: 2, CPUFlags: "aes"}}
	if !reflect.DeepEqual(e.Members, want) || e.MariaDB != "11.8" || e.Galera != "26.4" {
		t.Errorf("got %+v", e)
	}
	if e.Kernel != usage.Kernel() || e.CPUs != usage.Host().Count {
		t.Errorf("the client's own: %+v", e.Machine)
	}
}
