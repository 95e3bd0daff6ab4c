package experiment

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestCopied(t *testing.T) {
	const suite = "TLS_AES_256_GCM_SHA384"
	tls := v1alpha1.ChannelStatus{Observed: "TLS"}
	off := v1alpha1.TLSSpec{Replication: "Disabled", StateTransfer: "Disabled", Clients: "Disabled"}
	came := func(protocol, cipher string) *v1alpha1.JoinStatus {
		return &v1alpha1.JoinStatus{Kind: "SST", Protocol: protocol, Cipher: cipher}
	}
	for name, tc := range map[string]struct {
		spec   v1alpha1.TLSSpec
		method string
		join   *v1alpha1.JoinStatus
		want   string
	}{
		"encrypted": {v1alpha1.TLSSpec{}, "MariaBackup", came("TLSv1.3", suite), ""},
		"in clear, unasked": {v1alpha1.TLSSpec{}, "MariaBackup", came("", ""),
			"x-1: its copy: no version of TLS was observed"},
		"only this channel": {v1alpha1.TLSSpec{Replication: "Disabled", StateTransfer: "Required"}, "MariaBackup",
			came("", ""), "no version of TLS"},
		"too old": {v1alpha1.TLSSpec{}, "", came("TLSv1.2", suite), "observed TLSv1.2"},
		"another suite": {v1alpha1.TLSSpec{Cipher: "TLS_AES_128_GCM_SHA256"}, "", came("TLSv1.3", suite),
			"instead of TLS_AES_128_GCM_SHA256"},
		"plain":                   {off, "MariaBackup", came("", ""), ""},
		"plain, but encrypted":    {off, "MariaBackup", came("TLSv1.3", suite), "observed TLSv1.3 instead of Plaintext"},
		"by rsync":                {v1alpha1.TLSSpec{}, "Rsync", came("TLSv1.3", suite), ""},
		"by rsync, in clear":      {v1alpha1.TLSSpec{}, "Rsync", came("", ""), "no version of TLS"},
		"nothing known of a copy": {v1alpha1.TLSSpec{}, "MariaBackup", nil, "x-1: nothing is known"},
	} {
		c := cluster(tc.spec, tls, tls)
		c.Spec.StateTransfer.Method = tc.method
		c.Status.Members[1].Join = tc.join
		if got := Copied(c, "x-1"); (got == "") != (tc.want == "") ||
			!strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if Copied(cluster(v1alpha1.TLSSpec{}, tls, tls), "x-9") == "" {
		t.Error("an unknown node has proved nothing")
	}
}
