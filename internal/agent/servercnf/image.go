package servercnf

import (
	"bufio"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// providers are where distributions and images put the Galera library.
var providers = []string{
	"/usr/lib/galera/libgalera_smm.so", "/usr/lib/galera-4/libgalera_smm.so",
	"/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so",
	"/usr/lib/libgalera_smm.so", "/usr/lib64/libgalera_smm.so",
}

// FindProvider returns the path of the image's Galera library, "" when it has none.
func FindProvider() string {
	for _, p := range providers {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// servers are where images put mariadbd.
var servers = []string{"/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/bin/mariadbd", "/usr/local/sbin/mariadbd", "/usr/sbin/mysqld"}

// FindServer returns the path of mariadbd, "" when the image has none.
func FindServer() string {
	if path, err := exec.LookPath("mariadbd"); err == nil {
		return path
	}
	for _, p := range servers {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Needed lists, per line, tools of which one has to be there for state transfers.
func Needed(c agentapi.NodeConfig) [][]string {
	sockets := []string{"ss", "lsof", "sockstat"}
	encrypted := c.TLS.StateTransfer == galera.PolicyRequired
	if c.StateTransfer.Method == Rsync {
		needed := [][]string{{"wsrep_sst_rsync"}, {"rsync"}, sockets, {"ps"}}
		if encrypted {
			needed = append(needed, []string{"stunnel"}, []string{"openssl"})
		}
		return needed
	}
	needed := [][]string{{"wsrep_sst_mariabackup"}, {"mariadb-backup"}, {"mbstream"}, {"socat"}, sockets, {"ps"}}
	if c.StateTransfer.Compression == agentapi.CompressionZstd {
		needed = append(needed, []string{"zstd"})
	}
	return needed
}

// CertificateProblem says why a pair's leaf cannot serve the configured transfers, "" when it can.
// Encrypted rsync goes through stunnel, which the scripts tell to ask for the joiner's common name
// among the DNS names.
func CertificateProblem(c agentapi.NodeConfig, leaf *x509.Certificate) string {
	if c.StateTransfer.Method != Rsync || c.TLS.StateTransfer != galera.PolicyRequired || leaf == nil {
		return ""
	}
	if leaf.Subject.CommonName == "" || leaf.VerifyHostname(leaf.Subject.CommonName) != nil {
		return fmt.Sprintf("rsync transfers need a certificate whose common name (%q) is one of its DNS names; use MariaBackup, or another certificate", leaf.Subject.CommonName)
	}
	return ""
}

// Missing says which of the needed tools have returns false for.
func Missing(needed [][]string, have func(string) bool) []string {
	var missing []string
	for _, group := range needed {
		if !slices.ContainsFunc(group, have) {
			missing = append(missing, strings.Join(group, " or "))
		}
	}
	return missing
}

// HaveTool says whether the image has a program.
func HaveTool(name string) bool { return FindTool(name) != "" }

// FindTool returns the path of a program, "" when the image has none.
func FindTool(name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// OldSocat says, from what socat -V prints, that it is older than 1.8.
func OldSocat(version string) bool {
	_, after, _ := strings.Cut(version, "socat version ")
	var major, minor int
	n, _ := fmt.Sscanf(after, "%d.%d", &major, &minor)
	return n == 2 && (major < 1 || major == 1 && minor < 8)
}

// CPUFlags returns the flags that matter for ciphers, in the order of the contract.
func CPUFlags() []string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if k := strings.TrimSpace(key); k != "flags" && k != "Features" {
			continue
		}
		have := strings.Fields(value)
		var flags []string
		for _, want := range []string{"aes", "vaes", "pclmulqdq", "avx2", "avx512f"} {
			if slices.Contains(have, want) {
				flags = append(flags, want)
			}
		}
		return flags
	}
	return nil
}
