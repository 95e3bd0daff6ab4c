package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func spec() *v1alpha1.GaleraBenchmarkSpec {
	return &v1alpha1.GaleraBenchmarkSpec{
		Arms:   []v1alpha1.BenchmarkArm{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Rounds: 3, Seed: 1,
		Workloads: []v1alpha1.BenchmarkWorkload{
			{Name: "write", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1, 8}}},
			{Name: "connect", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{2}, TLSVersions: []string{"1.2", "1.3"},
				SessionResumption: []string{"Off"}, Latency: []string{"0s", "40ms"}}},
			{Name: "sst", StateTransfer: &v1alpha1.StateTransferWorkload{Methods: []string{"MariaBackup", "Rsync"},
				Parallel: []int32{1}, CPUAcceleration: []string{"On", "Off"}}},
		},
	}
}

func TestCells(t *testing.T) {
	var names []string
	for _, c := range Cells(spec()) {
		names = append(names, c.Workload.Name+" "+c.Variant)
	}
	want := []string{
		"write threads=1", "write threads=8",
		"connect tls=1.2,latency=0s", "connect tls=1.2,latency=40ms", "connect tls=1.3,latency=0s",
		"connect tls=1.3,latency=40ms",
		"sst method=MariaBackup,cpuAcceleration=On", "sst method=Rsync,cpuAcceleration=On",
		"sst method=MariaBackup,cpuAcceleration=Off", "sst method=Rsync,cpuAcceleration=Off",
	}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(names, "\n"))
	}
	if c := Cells(spec())[3]; c.Latency != 40*time.Millisecond || c.TLSVersion != "1.2" || c.Threads != 2 {
		t.Errorf("got %+v", c)
	}
	one := &v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{{Name: "w",
		OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{4}}}}}
	if c := Cells(one); len(c) != 1 || c[0].Variant != "" {
		t.Errorf("got %+v", c)
	}
}

// TestRsyncHasNoThreadsToChoose: it is measured once, however many numbers of them there are for the other method.
func TestRsyncHasNoThreadsToChoose(t *testing.T) {
	for want, st := range map[string]*v1alpha1.StateTransferWorkload{
		"method=MariaBackup,parallel=1 1, method=MariaBackup,parallel=4 4, method=Rsync 4": {Methods: []string{"MariaBackup",
			"Rsync"}, Parallel: []int32{1, 4}},
		" 2":                         {Methods: []string{"Rsync"}, Parallel: []int32{1, 2}},
		"parallel=1 1, parallel=2 2": {Methods: []string{"MariaBackup"}, Parallel: []int32{1, 2}},
	} {
		st.CPUAcceleration = []string{"On"}
		var got []string
		for _, c := range Cells(&v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{{Name: "sst",
			StateTransfer: st}}}) {
			got = append(got, fmt.Sprintf("%s %d", c.Variant, c.Parallel))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRsyncCopiesDatabasesSideBySide: of several it is measured with each number.
func TestRsyncCopiesDatabasesSideBySide(t *testing.T) {
	st := &v1alpha1.StateTransferWorkload{Databases: 4, Tables: 2, TableSize: 10, Methods: []string{"Rsync"},
		Parallel: []int32{1, 4}, CPUAcceleration: []string{"On"}}
	cells := Cells(&v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{{Name: "sst",
		StateTransfer: st}}})
	if len(cells) != 2 || cells[0].Parallel != 1 || cells[1].Variant != "parallel=4" {
		t.Errorf("got %+v", cells)
	}
	d := DataSet(cells[0])
	if want := []string{"bench_4of2x10", "bench_2_4of2x10", "bench_3_4of2x10", "bench_4_4of2x10"}; !slices.Equal(d.Names(),
		want) || Bytes(d) != 4*2*10*rowBytes {
		t.Errorf("got %v of %d bytes", d.Names(), Bytes(d))
	}
	st.Databases = 1
	if d := DataSet(cells[0]); d.Database != "bench_2x10" || !slices.Equal(d.Names(), []string{"bench_2x10"}) ||
		Bytes(d) != 2*10*rowBytes {
		t.Errorf("one database: %+v", d)
	}
}

func TestSSHCiphers(t *testing.T) {
	w := &v1alpha1.ConnectWorkload{Threads: []int32{1}, TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"},
		Latency: []string{"0s"}}
	s := &v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{{Name: "w", Connect: w}}}
	for want, set := range map[string]func(){
		" ":                              func() {},
		" chacha20-poly1305@openssh.com": func() { w.Via = v1alpha1.ViaSSHTunnel },
		" aes256-cbc":                    func() { w.SSHCiphers = []string{"aes256-cbc"} },
		"ssh=aes256-ctr aes256-ctr, ssh=aes256-cbc aes256-cbc": func() {
			w.SSHCiphers = []string{"aes256-ctr",
				"aes256-cbc"}
		},
	} {
		w.Via, w.SSHCiphers = v1alpha1.ViaDirect, nil
		if set(); len(w.SSHCiphers) > 0 {
			w.Via = v1alpha1.ViaSSHTunnel
		}
		var got []string
		for _, c := range Cells(s) {
			got = append(got, c.Variant+" "+c.SSHCipher)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestKeyExchanges: each is measured, and without a list it is the client's choice, once.
func TestKeyExchanges(t *testing.T) {
	w := v1alpha1.BenchmarkWorkload{Name: "w", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1},
		TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"}, Latency: []string{"0s"}}}
	s := &v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{w}}
	if got := Cells(s); len(got) != 1 || got[0].KeyExchange != "" || got[0].Variant != "" {
		t.Errorf("without: %+v", got)
	}
	w.Connect.KeyExchanges, w.Connect.Latency = []string{"X25519MLKEM768", "X25519"}, []string{"0s", "40ms"}
	got := Cells(s)
	if len(got) != 4 || got[3].KeyExchange != "X25519" || got[3].Variant != "latency=40ms,keyExchange=X25519" {
		t.Errorf("with: %+v", got)
	}
}

// TestSizes: each is measured with each number of threads.
func TestSizes(t *testing.T) {
	s := &v1alpha1.GaleraBenchmarkSpec{Workloads: []v1alpha1.BenchmarkWorkload{{Name: "w",
		ResultSize: &v1alpha1.ResultSizeWorkload{Sizes: []int32{100, 1 << 20}, Threads: []int32{4}}}}}
	got := Cells(s)
	if len(got) != 2 || got[1].Size != 1<<20 || got[1].Threads != 4 || got[1].Variant != "size=1048576" ||
		DataSet(got[1]).Database != "" {
		t.Errorf("got %+v", got)
	}
}

// TestCiphersAreMeasuredOnce: no arm changes them, and they change nothing of an arm's cluster.
func TestCiphersAreMeasuredOnce(t *testing.T) {
	s := spec()
	s.Workloads = []v1alpha1.BenchmarkWorkload{
		{Name: "w", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1}}},
		{Name: "cipher", Cipher: &v1alpha1.CipherWorkload{Ciphers: []string{"TLS_AES_128_GCM_SHA256", "AES-128-CTR"},
			CPUAcceleration: []string{"On", "Off"}}},
	}
	n := map[string]int{}
	for i, r := range Runs(s) {
		if n[r.Arm.Name+" "+r.Cell.Kind]++; r.Index != i+1 {
			t.Errorf("run %d is called %d", i+1, r.Index)
		}
	}
	if want := map[string]int{"a oltp": 3, "b oltp": 3, "c oltp": 3, "a cipher": 12}; !maps.Equal(n, want) {
		t.Errorf("got %v", n)
	}
	if c := Cells(s)[3]; c.Variant != "cipher=TLS_AES_128_GCM_SHA256,cpuAcceleration=Off" || !c.WithoutAccelerator {
		t.Errorf("got %+v", c)
	}
}

// order returns the arms as they come, each once while it stays.
func order(runs []Run) (out []string) {
	for _, r := range runs {
		if len(out) == 0 || out[len(out)-1] != r.Arm.Name {
			out = append(out, r.Arm.Name)
		}
	}
	return out
}

func TestInterleaved(t *testing.T) {
	s := spec()
	s.Rounds = 20
	runs := Runs(s)
	if len(runs) != 20*3*10 {
		t.Fatalf("got %d runs", len(runs))
	}
	seen := map[string]int{}
	first := map[string]bool{}
	for i, r := range runs {
		if r.Index != i+1 || r.Round != i/(3*10)+1 {
			t.Fatalf("run %d: %+v", i, r)
		}
		seen[r.Arm.Name]++
		if i%(3*10) == 0 {
			first[r.Arm.Name] = true
		}
	}
	if seen["a"] != 200 || seen["b"] != 200 || seen["c"] != 200 {
		t.Errorf("not every arm in every round: %v", seen)
	}
	if len(first) < 3 {
		t.Errorf("rounds always begin with %v", first)
	}
	if a, b := strings.Join(order(runs), ""), strings.Join(order(Runs(s)), ""); a != b {
		t.Error("the same seed gives another order")
	}
	other := spec()
	other.Rounds, other.Seed = 20, 2
	if strings.Join(order(runs), "") == strings.Join(order(Runs(other)), "") {
		t.Error("the seed changes nothing")
	}
}

func TestPolicy(t *testing.T) {
	base := v1alpha1.TLSSpec{Replication: "Required", StateTransfer: "Required", Clients: "Required", MinVersion: "1.3",
		Cipher: "Auto"}
	off := base.With(v1alpha1.BenchmarkTLS{Replication: "Disabled"})
	if off.Replication != "Disabled" || off.StateTransfer != "" || off.Clients != "Required" {
		t.Errorf("state transfer follows replication: %+v", off)
	}
	if SamePolicy(base, off) || !SamePolicy(base, v1alpha1.TLSSpec{}) {
		t.Error("defaults count as what they stand for")
	}
	rsa := base.With(v1alpha1.BenchmarkTLS{PrivateKey: &v1alpha1.PrivateKeySpec{Algorithm: "RSA"}})
	if a, n := Key(rsa); a != "RSA" || n != 2048 || SamePolicy(base, rsa) {
		t.Errorf("got %s %d", a, n)
	}
}

// cluster is a Ready one whose nodes are all observed alike.
func cluster(tls v1alpha1.TLSSpec, replication, clients v1alpha1.ChannelStatus) *v1alpha1.GaleraCluster {
	c := &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Replicas: 2, TLS: tls}}
	c.Generation, c.Status.ObservedGeneration = 4, 4
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True"}}
	transfer := v1alpha1.ChannelStatus{Observed: replication.Observed}
	for _, name := range []string{"x-0", "x-1"} {
		c.Status.Members = append(c.Status.Members, v1alpha1.MemberStatus{Name: name, TLS: &v1alpha1.MemberTLSStatus{
			Replication: &replication, Clients: &clients, StateTransfer: &transfer}})
	}
	return c
}

func TestProof(t *testing.T) {
	tls := v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: "TLSv1.3",
		Cipher: "TLS_AES_256_GCM_SHA384"}
	old := v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: "TLSv1.2",
		Cipher: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}
	plain := v1alpha1.ChannelStatus{Observed: "Plaintext"}
	mixed := v1alpha1.ChannelStatus{Observed: "Mixed", Protocol: tls.Protocol, Cipher: tls.Cipher}
	blank := func(protocol, cipher string) v1alpha1.ChannelStatus {
		return v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: protocol, Cipher: cipher}
	}
	off := v1alpha1.TLSSpec{Replication: "Disabled", Clients: "Disabled"}
	for name, tc := range map[string]struct {
		c    *v1alpha1.GaleraCluster
		edit func(*v1alpha1.GaleraCluster)
		want string
	}{
		"encrypted":           {cluster(v1alpha1.TLSSpec{}, tls, tls), nil, ""},
		"plain":               {cluster(off, plain, plain), nil, ""},
		"plain but encrypted": {cluster(off, tls, plain), nil, "replication: observed TLS instead of Plaintext"},
		"encrypted but plain": {cluster(v1alpha1.TLSSpec{}, plain, tls), nil,
			"replication: observed Plaintext instead of TLS"},
		"mixed": {cluster(v1alpha1.TLSSpec{}, v1alpha1.ChannelStatus{Observed: "Mixed"}, tls), nil,
			"observed Mixed"},
		"plaintext not tried": {cluster(v1alpha1.TLSSpec{}, v1alpha1.ChannelStatus{Observed: "TLS"}, tls), nil,
			"not seen to be refused"},
		"another suite": {cluster(v1alpha1.TLSSpec{Cipher: "TLS_AES_128_GCM_SHA256"}, tls, tls), nil,
			"instead of TLS_AES_128_GCM_SHA256"},
		"no suite seen": {cluster(v1alpha1.TLSSpec{Cipher: tls.Cipher}, tls, blank("TLSv1.3", "")), nil,
			"clients: no cipher was observed, and TLS_AES_256_GCM_SHA384 is wanted"},
		"no suite, any will do": {cluster(v1alpha1.TLSSpec{}, blank("TLSv1.3", ""), tls), nil,
			"replication: no cipher was observed"},
		"no version seen": {cluster(v1alpha1.TLSSpec{}, blank("", tls.Cipher), tls), nil,
			"replication: no version of TLS was observed, and TLSv1.3 or newer is wanted"},
		"no version, any will do": {cluster(v1alpha1.TLSSpec{MinVersion: "1.2"}, tls, blank("", tls.Cipher)), nil,
			"clients: no version of TLS was observed"},
		"nothing but the word TLS": {cluster(v1alpha1.TLSSpec{}, blank("", ""), tls), nil,
			"replication: no version of TLS was observed"},
		"no version, and preferred": {cluster(v1alpha1.TLSSpec{Clients: "Preferred"}, tls,
			v1alpha1.ChannelStatus{Observed: "Mixed"}), nil, "clients: no version of TLS was observed"},
		"the very suite": {cluster(v1alpha1.TLSSpec{Cipher: tls.Cipher}, tls, tls), nil, ""},
		"suite without TLS": {cluster(v1alpha1.TLSSpec{Cipher: tls.Cipher, Replication: "Disabled",
			Clients: "Disabled"}, plain, plain), nil, ""},
		"too old": {cluster(v1alpha1.TLSSpec{}, old, tls), nil,
			"replication: observed TLSv1.2 instead of TLSv1.3 or newer"},
		"old and allowed":      {cluster(v1alpha1.TLSSpec{MinVersion: "1.2"}, old, old), nil, ""},
		"newer than need be":   {cluster(v1alpha1.TLSSpec{MinVersion: "1.2"}, tls, tls), nil, ""},
		"preferred":            {cluster(v1alpha1.TLSSpec{Clients: "Preferred"}, tls, mixed), nil, ""},
		"only replication off": {cluster(v1alpha1.TLSSpec{Replication: "Disabled"}, plain, tls), nil, ""},
		"only clients off":     {cluster(v1alpha1.TLSSpec{Clients: "Disabled"}, tls, plain), nil, ""},
		"another key": {cluster(v1alpha1.TLSSpec{}, tls, tls), func(c *v1alpha1.GaleraCluster) {
			c.Spec.TLS.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 3072}
			c.Status.TLS = &v1alpha1.ClusterTLSStatus{Serial: "a", Key: "ECDSA-256"}
		}, "a key of ECDSA-256 instead of RSA-3072"},
		"a certificate of before": {cluster(v1alpha1.TLSSpec{}, tls, tls), func(c *v1alpha1.GaleraCluster) {
			c.Status.TLS = &v1alpha1.ClusterTLSStatus{Serial: "b", Key: "ECDSA-256"}
			c.Status.Members[1].TLS.Clients = &v1alpha1.ChannelStatus{Observed: "TLS", Serial: "a"}
		}, "x-1: presented the certificate a instead of b"},
		"spec not seen": {cluster(off, plain, plain), func(c *v1alpha1.GaleraCluster) { c.Generation++ },
			"has not seen"},
		"in the middle of it": {cluster(off, plain, plain),
			func(c *v1alpha1.GaleraCluster) { c.Status.Operation = &v1alpha1.OperationStatus{} }, "operation"},
		"one node not there": {cluster(off, plain, plain), func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas = 3 },
			"2 of 3 nodes"},
		"one node unobserved": {cluster(off, plain, plain), func(c *v1alpha1.GaleraCluster) { c.Status.Members[1].TLS = nil },
			"x-1: nothing was observed"},
		"not ready": {cluster(off, plain, plain),
			func(c *v1alpha1.GaleraCluster) { c.Status.Conditions[0].Status = "False" }, "not Ready"},
		"the last node differs": {cluster(off, plain, plain), func(c *v1alpha1.GaleraCluster) {
			c.Status.Members[1].TLS = &v1alpha1.MemberTLSStatus{Replication: &tls, Clients: &plain, StateTransfer: &plain}
		}, "x-1: replication"},
	} {
		if tc.edit != nil {
			tc.edit(tc.c)
		}
		if got := Proof(tc.c); (got == "") != (tc.want == "") ||
			!strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
