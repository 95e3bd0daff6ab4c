package servercnf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agent/sst/transfer"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// sockopt lets the donor's socat wait for the joiner's listener (ten seconds, which must stay below
// what the agent waits after a failed transfer: see RetryAfterTransfer), and, where that is possible,
// give up sooner than the kernel would on an address nobody answers from. On the listening side it
// repeats a bind that failed, and goes on after somebody was turned away.
func sockopt(in Input) string {
	if in.OldSocat {
		return "retry=50,interval=0.2"
	}
	return "retry=50,interval=0.2,connect-timeout=3"
}

// scriptEnv makes transfers faster: it shortens the donor's fixed ten-second sleep between the two streams of a
// mariabackup transfer (sockopt makes the donor wait for the joiner itself), and lets socat move eight times as much
// at a time as it does by itself, which takes a third less of the processors, and tell which TLS was spoken
// (server.ParseHandshake), as it lets a joiner's stunnel. It also notes who gives what to
// whom. The file is BASH_ENV of mariadbd, so bash reads it before each script. A directory in PATH
// would not do: mariadbd puts its own bin directory in front.
//
// The joiner's first stream, which is awaited with timeout, tells more: with a number of retries a listening socat goes
// on when it has turned somebody away, and calls the reason no error.
//
// The pipes between socat and its neighbours are widened (package widen): socat's own option for that fails, and with it the
// transfer, where the host does not give so much, and older ones have none.
//
// In a pipe socat takes the place of its shell, so that its exit code and its process are where the scripts look. So does
// stunnel, which a joiner starts in the background.
//
// Where a transfer is to be encrypted, rsync's script is not let go on without a stunnel that it would find: it would copy in
// clear, without a word, whatever ssl-mode says. The image was looked at (Needed), but not through this very PATH.
//
// stunnel takes its own settings for OpenSSL's: a joiner's, whose word counts, is given the policy (tunnel, "" where a transfer
// is not to be encrypted).
func scriptEnv(notes, agent, tunnel string) string {
	guard := ""
	if tunnel != "" {
		guard = `	if [ "${0##*/}" = wsrep_sst_rsync ] && ! type -P stunnel >/dev/null; then
		echo 'WSREP_SST: [ERROR] stunnel not found in PATH: rsync would send everything in clear' >&2
		exit 2
	fi
`
	}
	return `# Read by bash before each transfer script (BASH_ENV).
case "${0##*/}" in
wsrep_sst_mariabackup | wsrep_sst_rsync)
` + guard + transfer.Script(notes) + `	sleep() {
		if [ "$*" = 10 ]; then
			command sleep 0.3
		else
			command sleep "$@"
		fi
	}
	if type -P socat >/dev/null; then
		socat() {
			if [ "$BASHPID" != $$ ]; then
				` + agent + ` widen || :
				exec socat -d -d -b 65536 "$@"
			fi
			command socat -d -d -b 65536 "$@"
		}
	fi
	if type -P stunnel >/dev/null; then
		stunnel() {
			sed -i 's/^debug = warning$/debug = info` + tunnel + `/' "$1" || exit 2
			if [ "$BASHPID" != $$ ]; then exec stunnel "$@"; fi
			command stunnel "$@"
		}
	fi
	if type -P timeout >/dev/null; then
		timeout() {
			local word words=()
			for word; do
				words+=("$word")
				if [ "$word" = socat ]; then words+=(-d -d -d); fi
			done
			if [ "$BASHPID" != $$ ]; then exec timeout "${words[@]}"; fi
			command timeout "${words[@]}"
		}
	fi
	;;
esac
`
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
	// For the first, tiny stream only, which tells the position; afterwards the agent watches.
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

// TransferEncrypted says whether a rendered configuration makes both sides of a state transfer
// encrypt and verify.
func TransferEncrypted(f mycnf.File) bool {
	mode, _ := f.Get("sst", "ssl-mode")
	encrypt, _ := f.Get("sst", "encrypt")
	ca, _ := f.Get("sst", "tca")
	return (mode == "VERIFY_CA" || encrypt == "4") && ca != ""
}

// tunnel is the policy for a joiner's stunnel, as lines that follow another one in sed.
func tunnel(in Input) string {
	if in.Config.TLS.StateTransfer != galera.PolicyRequired {
		return ""
	}
	least := "TLSv1.3"
	if in.Config.TLS.MinVersion == "1.2" {
		least = "TLSv1.2"
	}
	return `\nsslVersionMin = ` + least + `\nciphersuites = ` + strings.Join(suites(in.Config.TLS, in.CPUFlags), ":") + `\noptions = CIPHER_SERVER_PREFERENCE`
}

// openSSL is the policy for all that links OpenSSL: provider, server and socat. It is the only
// way to reach the TLS 1.3 suites of ports 4567, 4568 and 4444; of the last by rsync tunnel is.
func openSSL(t agentapi.TLSConfig, cpuFlags []string) string {
	var b strings.Builder
	b.WriteString("openssl_conf = agent_conf\n\n[agent_conf]\nssl_conf = agent_ssl\n\n[agent_ssl]\nsystem_default = agent_tls\n\n[agent_tls]\n")
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
