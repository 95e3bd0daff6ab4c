package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestOtherSettings: workloads and arms are matched by their names, which say nothing of what else is different.
func TestOtherSettings(t *testing.T) {
	a, b := sample(), sample()
	a.Resource.Name, b.Resource.Name = "one", "other"
	if got := differences(a, b); got != nil {
		t.Errorf("of the same: %v", got)
	}
	s := &b.Resource.Spec
	s.Workloads[0].OLTP.Threads, s.Workloads[0].OLTP.Target = []int32{32}, "Primary"
	s.Workloads[1].Name, s.Workloads[1].OLTP.TableSize = "of-its-own", 7
	s.Arms[1].TLS.Cipher = "TLS_CHACHA20_POLY1305_SHA256"
	s.Cluster.Template.Replicas = 3
	s.Client.NodeSelector = map[string]string{"disk": "fast"}
	s.Rounds = 20 // only intervals are narrower
	want := []string{
		"cluster, replicas: 0 and 3",
		`client, nodeSelector.disk: not set and "fast"`,
		`arm encrypted, cipher: not set and "TLS_CHACHA20_POLY1305_SHA256"`,
		`workload write-only, oltp.target: not set and "Primary"`,
		"workload write-only, oltp.threads: [8] and [32]",
	}
	if got := differences(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	for format, want := range map[string]string{"table": "\ndifferent settings: workload write-only, oltp.threads: [8] " +
		"and [32]\n",
		"md":   "\n- different settings: workload write-only, oltp.threads: [8] and [32]\n",
		"html": "oltp.threads: [8] and [32]"} {
		var out bytes.Buffer
		if err := Compare(&out, format, a, b); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", format, err, out.String())
		}
	}
	s.Cluster = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: "shop"}}
	if got := differences(a, b)[0]; got != "cluster: a private one and shop" {
		t.Errorf("got %q", got)
	}
}
