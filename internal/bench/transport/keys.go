package transport

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
)

// keyType is SSH's name for the only kind of key there is here.
const keyType = "ssh-ed25519"

// NewSSHFiles makes two key pairs, and returns what both ends need to know of them, by the name of the file.
func NewSSHFiles() (map[string][]byte, error) {
	host, hostKey, err := newPair()
	if err != nil {
		return nil, err
	}
	user, identity, err := newPair()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		HostKey: hostKey, KnownHosts: []byte(hostAlias + " " + host + "\n"),
		Identity: identity, AuthorizedKeys: []byte("restrict,port-forwarding " + user + "\n"),
	}, nil
}

// newPair returns a public key as SSH writes it in one line, and the private one as PEM.
func newPair() (public string, private []byte, err error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", nil, err
	}
	return keyType + " " + base64.StdEncoding.EncodeToString(publicBlob(pub)),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// publicBlob is RFC 8709's form of a public key: two texts, each after its length.
func publicBlob(pub ed25519.PublicKey) (out []byte) {
	for _, part := range [][]byte{[]byte(keyType), pub} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
		out = append(out, part...)
	}
	return out
}
