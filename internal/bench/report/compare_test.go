package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
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
		`different settings: arm encrypted.tls.cipher: not set and "TLS_CHACHA20_POLY1305_SHA256"`,
		`different settings: client.nodeSelector.disk: not set and "fast"`,
		"different settings: cluster.template.replicas: 0 and 3",
		`different settings: workload write-only.oltp.target: not set and "Primary"`,
		"different settings: workload write-only.oltp.threads: [8] and [32]",
	}
	if got := differences(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	for _, format := range []string{"table", "md"} {
		var out bytes.Buffer
		if err := Compare(&out, format, a, b); err != nil || !strings.Contains(out.String(), "\n- "+want[4]+"\n") {
			t.Errorf("%s: %v\n%s", format, err, out.String())
		}
	}
}
