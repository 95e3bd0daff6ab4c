package config

import (
	"crypto/x509"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

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

var safeNames = regexp.MustCompile("^[" + safeName + "]+$")

// CertificateProblem returns the reason why a pair's leaf cannot serve the configured transfers, "" when it can.
// Encrypted rsync goes through stunnel, which the scripts configure to ask for the joiner's common name
// among the DNS names. MariaDB takes no other characters in it than safeName's.
func CertificateProblem(c agentapi.NodeConfig, leaf *x509.Certificate) string {
	if c.StateTransfer.Method != Rsync || c.TLS.StateTransfer != galera.PolicyRequired || leaf == nil {
		return ""
	}
	cn := leaf.Subject.CommonName
	if !safeNames.MatchString(cn) || leaf.VerifyHostname(cn) != nil {
		return fmt.Sprintf(
			"rsync transfers need a certificate whose common name (%q) is one of its DNS names, without a wildcard; use "+
				"MariaBackup, or another certificate", cn)
	}
	return ""
}

// Missing returns which of the needed tools have returns false for.
func Missing(needed [][]string, have func(string) bool) []string {
	var missing []string
	for _, group := range needed {
		if !slices.ContainsFunc(group, have) {
			missing = append(missing, strings.Join(group, " or "))
		}
	}
	return missing
}
