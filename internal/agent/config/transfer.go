package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// sockopt lets the donor's socat wait for the joiner's listener (ten seconds, which must stay below
// what the agent waits after a failed transfer: see RetryAfterTransfer), and, where that is possible,
// give up sooner than the kernel would on an address that does not answer. On the listening side it
// repeats a bind that failed, and goes on after a client was turned away.
func sockopt(in Input) string {
	if in.OldSocat {
		return "retry=50,interval=0.2"
	}
	return "retry=50,interval=0.2,connect-timeout=3"
}

// transferSection is [sst], which the scripts read from the disk at every transfer.
//
// encrypt=4 makes socat verify both sides against the CA and ask for no name. ssl-mode=VERIFY_CA on
// top of it makes the joiner hand a secret to its donor through the encrypted group channel,
// so that the stream of an earlier, failed attempt is turned away; it is what makes rsync
// verify, too.
func transferSection(in Input) mycnf.Section {
	st := in.Config.StateTransfer
	opts := []mycnf.Option{mycnf.Set("sst-log-archive", "0")}
	if st.Method == MariaBackup {
		opts = append(opts, mycnf.Set("sockopt", sockopt(in)))
	}
	if in.Config.TLS.StateTransfer == galera.PolicyRequired {
		p := in.Places
		if st.Method == MariaBackup {
			opts = append(opts, mycnf.Set("encrypt", "4"))
		}
		if in.OpenSSLTool || st.Method == Rsync {
			opts = append(opts, mycnf.Set("ssl-mode", "VERIFY_CA"))
		}
		opts = append(opts,
			mycnf.Set("tca", p.TransferCA()), mycnf.Set("tcert", p.Cert()), mycnf.Set("tkey", p.Key()))
	} else {
		// Said outright: rsync takes up [mysqld] ssl_* otherwise, on one side perhaps only.
		opts = append(opts, mycnf.Set("encrypt", "0"), mycnf.Set("ssl-mode", "DISABLED"))
	}
	if st.Method == MariaBackup {
		opts = append(opts, streamOptions(in)...)
	} else {
		// rsync's script starts as many as the host has processors by itself.
		opts = append(opts, mycnf.Set("backup-threads", strconv.Itoa(max(st.Parallel, 1))))
	}
	return mycnf.Section{Name: "sst", Options: opts}
}

// streamOptions are about the stream of a MariaBackup transfer, and what becomes of it.
func streamOptions(in Input) []mycnf.Option {
	st := in.Config.StateTransfer
	// For the first, tiny stream only, which carries the position; afterwards the agent watches.
	opts := []mycnf.Option{mycnf.Set("sst-initial-timeout", strconv.FormatInt(int64(st.Stall().Seconds()), 10))}
	if st.Parallel > 1 {
		n := strconv.Itoa(st.Parallel)
		opts = append(opts, mycnf.Set("backup-threads", n), mycnf.Set("inno-backup-opts", "--parallel="+n))
	}
	// The donor's filters run in this order, between the backup and the encryption.
	var filters []string
	if st.Compression == agentapi.CompressionZstd {
		filters = append(filters, fmt.Sprintf("zstd -q -1 -T%d -c", max(st.Parallel, 1)))
		opts = append(opts, mycnf.Set("decompressor", "zstd -q -d -c"))
	}
	if st.RateLimit > 0 {
		filters = append(filters, fmt.Sprintf("%s throttle %d", in.Places.Agent(), st.RateLimit))
	}
	if len(filters) > 0 {
		opts = append(opts, mycnf.Set("compressor", strings.Join(filters, " | ")))
	}
	if st.PrepareMemory > 0 {
		opts = append(opts, mycnf.Set("use-memory", strconv.FormatInt(st.PrepareMemory, 10)))
	}
	return opts
}

// TransferEncrypted reports whether a rendered configuration makes both sides of a state transfer
// encrypt and verify.
func TransferEncrypted(f mycnf.File) bool {
	mode, _ := f.Get("sst", "ssl-mode")
	encrypt, _ := f.Get("sst", "encrypt")
	ca, _ := f.Get("sst", "tca")
	return (mode == "VERIFY_CA" || encrypt == "4") && ca != ""
}

// openSSL is the policy for all that links OpenSSL: provider, server and socat. It is the only
// way to reach the TLS 1.3 suites of ports 4567, 4568 and 4444; of the last by rsync tunnel is.
func openSSL(t agentapi.TLSConfig, cpuFlags []string) string {
	var b strings.Builder
	b.WriteString(
		"openssl_conf = agent_conf\n\n[agent_conf]\nssl_conf = agent_ssl\n\n[agent_ssl]\nsystem_default = " +
			"agent_tls\n\n[agent_tls]\n")
	if t.MinVersion == "1.2" {
		b.WriteString("MinProtocol = TLSv1.2\nCipherString = ECDHE+AESGCM:ECDHE+CHACHA20\n")
	} else {
		b.WriteString("MinProtocol = TLSv1.3\n")
	}
	b.WriteString("Ciphersuites = " + strings.Join(suites(t, cpuFlags), ":") + "\n")
	return b.String()
}

// suites are the TLS 1.3 suites in order of preference: those of the policy, or, where it leaves
// the choice, first what all members' CPUs are quick at, as far as that is known what this host's is. All
// are allowed then, as clients choose for themselves.
func suites(t agentapi.TLSConfig, cpuFlags []string) []string {
	const aes128, aes256, chacha = galera.SuiteAES128, "TLS_AES_256_GCM_SHA384", galera.SuiteChaCha20
	switch {
	case len(t.CipherSuites) > 0:
		return t.CipherSuites
	case t.PreferredSuite == aes128, t.PreferredSuite == "" && slices.Contains(cpuFlags, "aes"):
		return []string{aes128, aes256, chacha}
	default:
		return []string{chacha, aes128, aes256}
	}
}
