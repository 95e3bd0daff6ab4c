// Package nodetls is how the program in the Jobs of backups proves itself to the nodes of a cluster, and to their
// agents: with the certificate of the archiver's account.
package nodetls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
)

// Read returns the certificate in a directory, with the CA by which nodes are verified, for connections of at least a
// version of TLS. It is read anew for every connection: it is renewed.
func Read(dir string, version uint16) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the Secret of the archiver's account has no CA")
	}
	return &tls.Config{MinVersion: version, Certificates: []tls.Certificate{pair}, RootCAs: roots}, nil
}
