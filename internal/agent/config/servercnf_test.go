package config

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

var update = flag.Bool("update", false, "write the golden files")

func input(edit func(*Input)) Input {
	in := Input{
		Config: agentapi.NodeConfig{
			Cluster: "shop", Namespace: "test", Revision: "1",
			Members: []agentapi.Peer{{Name: "shop-0", Host: "shop-0.nodes"}, {Name: "shop-1", Host: "shop-1.nodes"}},
			TLS: agentapi.TLSConfig{Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired,
				Clients: galera.PolicyRequired, MinVersion: "1.3"},
			StateTransfer: agentapi.StateTransferConfig{Method: MariaBackup, Parallel: 4},
			Settings:      map[string]string{"max_connections": "100", "init_connect": "SET @a = 'x # y'"},
		},
		Name: "shop-1", Address: "10.0.0.2", Provider: "/usr/lib/galera/libgalera_smm.so", User: "mysql",
		Places: platform.DefaultPlaces(), OpenSSLTool: true, CPUFlags: []string{"aes"}, OpenFiles: 1 << 63,
	}
	if edit != nil {
		edit(&in)
	}
	return in
}

// TestGolden compares whole files; go test ./... -update writes them anew.
func TestGolden(t *testing.T) {
	for name, edit := range map[string]func(*Input){
		"strict": nil,
		"plain": func(in *Input) {
			in.Config.TLS = agentapi.TLSConfig{Replication: galera.SocketPlain, StateTransfer: galera.PolicyDisabled,
				Clients: galera.PolicyDisabled, MinVersion: "1.3"}
		},
		"dynamic": func(in *Input) {
			in.Config.TLS.Replication, in.Config.TLS.Clients = galera.SocketDynamic, galera.PolicyPreferred
			in.Config.TLS.MinVersion, in.Config.TLS.CipherSuites = "1.2",
				[]string{"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}
		},
		"rsync-ipv6": func(in *Input) {
			in.Config.StateTransfer = agentapi.StateTransferConfig{Method: Rsync, Parallel: 1}
			in.Address = "fd00::2"
		},
		"compressed-limited": func(in *Input) {
			in.Config.StateTransfer = agentapi.StateTransferConfig{Method: MariaBackup, Parallel: 2, Donors: []string{"shop-0"},
				Compression: agentapi.CompressionZstd, RateLimit: 50 << 20, PrepareMemory: 1 << 30, StallSeconds: 120,
				WindowSeconds: 7200, CacheBudget: 5 << 30}
		},
		"old-socat":              func(in *Input) { in.OldSocat = true },
		"no-openssl-tool-no-aes": func(in *Input) { in.OpenSSLTool, in.CPUFlags = false, nil },
	} {
		out := Build(input(edit))
		got := out.MyCnf.Render() + "\n# ---- openssl.cnf\n" + out.OpenSSL
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from its golden file:\n%s", name, got)
		}
	}
}

// TestPlainHasNoKeys guards a trap: IST picks its scheme by the key, whatever socket.ssl says.
func TestPlainHasNoKeys(t *testing.T) {
	out := Build(input(func(in *Input) { in.Config.TLS.Replication = galera.SocketPlain }))
	options, _ := out.MyCnf.Get("mysqld", "wsrep_provider_options")
	if strings.Contains(options, "ssl") || strings.Contains(options, "dynamic") {
		t.Errorf("plain sockets with %q", options)
	}
}

// TestLongNames guards names that Galera would cut off, so that all members were called the same.
func TestLongNames(t *testing.T) {
	const long = "a-cluster-with-quite-a-long-name-1"
	out := Build(input(func(in *Input) { in.Name = long }))
	if name, _ := out.MyCnf.Get("mysqld", "wsrep_node_name"); name != agentapi.GroupName(long) {
		t.Errorf("the node's name is %q", name)
	}
}

func TestUserCannotOverride(t *testing.T) {
	out := Build(input(func(in *Input) {
		in.Config.Settings = map[string]string{
			"datadir": "/evil", "loose-wsrep_on": "OFF", "WSREP-provider_options": "pc.ignore_sb=yes", "ssl_c": "/evil",
			"max_connections": "7\nskip-grant-tables", "sort_buffer_size": "1M",
		}
	}))
	text := out.MyCnf.Render()
	for _, bad := range []string{"evil", "wsrep_on = OFF", "ignore_sb", "skip-grant-tables", "= 7"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q got in:\n%s", bad, text)
		}
	}
	if v, _ := out.MyCnf.Get("mysqld", "sort_buffer_size"); v != "1M" {
		t.Errorf("sort_buffer_size is %q", v)
	}
}

// TestHash shows what needs a restart and what does not.
func TestHash(t *testing.T) {
	base := Build(input(nil)).Hash
	for name, c := range map[string]struct {
		edit    func(*Input)
		restart bool
	}{
		"nothing":             {nil, false},
		"revision":            {func(in *Input) { in.Config.Revision = "2" }, false},
		"another member":      {func(in *Input) { in.Config.Members = in.Config.Members[:1] }, false},
		"transfer method":     {func(in *Input) { in.Config.StateTransfer.Method = Rsync }, false},
		"transfer encryption": {func(in *Input) { in.Config.TLS.StateTransfer = galera.PolicyDisabled }, false},
		"rate limit":          {func(in *Input) { in.Config.StateTransfer.RateLimit = 1 << 20 }, false},
		"compression":         {func(in *Input) { in.Config.StateTransfer.Compression = agentapi.CompressionZstd }, false},
		"window":              {func(in *Input) { in.Config.StateTransfer.WindowSeconds = 3600 }, false},
		"donors":              {func(in *Input) { in.Config.StateTransfer.Donors = []string{"shop-0"} }, false},
		"transfer threads":    {func(in *Input) { in.Config.StateTransfer.Parallel = 8 }, false},
		"clients preferred":   {func(in *Input) { in.Config.TLS.Clients = galera.PolicyPreferred }, false},
		"hibernated":          {func(in *Input) { in.Config.Hibernated = true }, false},
		"log format":          {func(in *Input) { in.Config.LogFormat = "json" }, false},
		"clients without TLS": {func(in *Input) { in.Config.TLS.Clients = galera.PolicyDisabled }, true},
		"plain sockets":       {func(in *Input) { in.Config.TLS.Replication = galera.SocketPlain }, true},
		"dynamic sockets":     {func(in *Input) { in.Config.TLS.Replication = galera.SocketDynamic }, true},
		"TLS 1.2":             {func(in *Input) { in.Config.TLS.MinVersion = "1.2" }, true},
		"ciphers":             {func(in *Input) { in.Config.TLS.CipherSuites = []string{"TLS_AES_128_GCM_SHA256"} }, true},
		"a setting":           {func(in *Input) { in.Config.Settings = map[string]string{"max_connections": "101"} }, true},
	} {
		if got := Build(input(c.edit)).Hash != base; got != c.restart {
			t.Errorf("%s: restart %v, want %v", name, got, c.restart)
		}
	}
}

func TestTransferEncrypted(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Input)
		want bool
	}{
		"mariabackup":        {nil, true},
		"rsync":              {func(in *Input) { in.Config.StateTransfer.Method = Rsync }, true},
		"no openssl program": {func(in *Input) { in.OpenSSLTool = false }, true},
		"disabled":           {func(in *Input) { in.Config.TLS.StateTransfer = galera.PolicyDisabled }, false},
		"disabled with rsync": {func(in *Input) {
			in.Config.TLS.StateTransfer, in.Config.StateTransfer.Method = galera.PolicyDisabled, Rsync
		}, false},
	} {
		if got := TransferEncrypted(Build(input(c.edit)).MyCnf); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := input(nil).Config
	if err := Check(good, "shop-1"); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*agentapi.NodeConfig){
		"not a member": func(c *agentapi.NodeConfig) { c.Members = c.Members[:1] },
		"no cluster":   func(c *agentapi.NodeConfig) { c.Cluster = "" },
		"mode":         func(c *agentapi.NodeConfig) { c.TLS.Replication = "" },
		"transfer":     func(c *agentapi.NodeConfig) { c.TLS.StateTransfer = galera.PolicyPreferred },
		"clients":      func(c *agentapi.NodeConfig) { c.TLS.Clients = "Maybe" },
		"version":      func(c *agentapi.NodeConfig) { c.TLS.MinVersion = "1.1" },
		"method":       func(c *agentapi.NodeConfig) { c.StateTransfer.Method = "mysqldump" },
		"suite":        func(c *agentapi.NodeConfig) { c.TLS.CipherSuites = []string{"X\nCipherString = NULL"} },
	} {
		c := good
		c.Members = slices.Clone(good.Members)
		edit(&c)
		if Check(c, "shop-1") == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMissing(t *testing.T) {
	have := func(tools ...string) func(string) bool {
		return func(s string) bool { return slices.Contains(tools, s) }
	}
	config := input(nil).Config
	all := []string{"wsrep_sst_mariabackup", "mariadb-backup", "mbstream", "socat", "lsof", "ps"}
	if got := Missing(Needed(config), have(all...)); got != nil {
		t.Errorf("%v", got)
	}
	if got := Missing(Needed(config), have(all[:3]...)); !slices.Equal(got, []string{"socat", "ss or lsof or sockstat",
		"ps"}) {
		t.Errorf("%v", got)
	}
	config.StateTransfer.Method = Rsync
	if got := Missing(Needed(config), have("wsrep_sst_rsync", "rsync", "ss", "ps")); !slices.Equal(got,
		[]string{"stunnel", "openssl"}) {
		t.Errorf("%v", got)
	}
}

func TestCertificateProblem(t *testing.T) {
	config := input(nil).Config
	leaf := func(cn string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: cn}, DNSNames: []string{"shop.test", "*.shop.test"}}
	}
	if got := CertificateProblem(config, leaf("anything")); got != "" {
		t.Errorf("mariabackup: %s", got)
	}
	config.StateTransfer.Method = Rsync
	for cn, bad := range map[string]bool{"shop.test": false, "shop": true, "": true, "a.shop.test": false,
		"*.shop.test": true} {
		if got := CertificateProblem(config, leaf(cn)); (got != "") != bad {
			t.Errorf("rsync with %q: %q", cn, got)
		}
	}
	config.TLS.StateTransfer = galera.PolicyDisabled
	if got := CertificateProblem(config, leaf("shop")); got != "" {
		t.Errorf("rsync without TLS: %s", got)
	}
}

// TestStrictMode: a node that follows refuses what Galera does not replicate, and keeps the settings' own wsrep_mode.
func TestStrictMode(t *testing.T) {
	for value, want := range map[string]string{
		"":                       "STRICT_REPLICATION",
		"REPLICATE_MYISAM":       "STRICT_REPLICATION,REPLICATE_MYISAM",
		"strict_replication":     "strict_replication",
		"4":                      "5",
		"BINLOG_ROW_FORMAT_ONLY": "STRICT_REPLICATION,BINLOG_ROW_FORMAT_ONLY",
	} {
		if got := strictMode(Mode(map[string]string{"wsrep_mode": value})); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
