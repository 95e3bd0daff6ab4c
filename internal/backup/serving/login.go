package serving

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what the method of the protocol is made of
	"crypto/subtle"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// loginTime bounds one message of a login.
const loginTime = 10 * time.Second

// method is that of the login: every series of MariaDB has it. The password's proof is sent within TLS only.
const method = "mysql_native_password"

// Capabilities, as the protocol names them.
const (
	capSSL     = 0x800
	capLenenc  = 0x200000
	capDB      = 8
	capPlugin  = 0x80000
	capOffered = 1 | 4 | capDB | 0x200 | capSSL | 0x2000 | 0x8000 | capPlugin | 0x100000 | capLenenc
)

// version is what replicas see: they want one of MariaDB.
const version = "11.8.0-MariaDB-archive"

// account is who may log in.
type account struct{ user, password string }

var errDenied = errors.New("the login was refused: another name or password than those of its Secret")

// login lets a replica in, over TLS.
func login(ctx context.Context, p *packets, trust *tls.Config, who account) (*packets, error) {
	salt := salt()
	if err := errors.Join(p.write(greeting(salt)), p.flush()); err != nil {
		return nil, err
	}
	answer, err := p.read(loginTime)
	if err != nil {
		return nil, err
	}
	if len(answer) != 32 || binary.LittleEndian.Uint32(answer)&capSSL == 0 {
		_ = p.refuse(3159, "HY000", "Connections to an archive need TLS")
		return nil, errors.New("a login without TLS was refused")
	}
	if err := p.conn.SetDeadline(time.Now().Add(loginTime)); err != nil {
		return nil, err
	}
	secure := tls.Server(p.conn, trust)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("the TLS handshake has failed: %w", err)
	}
	p = p.upgraded(secure)
	if answer, err = p.read(loginTime); err != nil {
		return nil, err
	}
	user, proof, plugin, err := parse(answer)
	if err != nil {
		return nil, err
	}
	if plugin != method {
		ask := append([]byte{headEOF}, method+"\x00"...)
		if err := errors.Join(p.write(append(append(ask, salt...), 0)), p.flush()); err != nil {
			return nil, err
		}
		if proof, err = p.read(loginTime); err != nil {
			return nil, err
		}
	}
	same := subtle.ConstantTimeCompare([]byte(user), []byte(who.user)) == 1
	if !proves(proof, salt, who.password) || !same {
		_ = p.refuse(1045, "28000", "Access denied")
		return nil, errDenied
	}
	return p, p.ok()
}

// salt is 20 bytes without a zero.
func salt() []byte {
	out := make([]byte, 20)
	_, _ = rand.Read(out)
	for i := range out {
		out[i] = out[i]&0x7f | 1
	}
	return out
}

func greeting(salt []byte) []byte {
	out := append([]byte{10}, version+"\x00"...)
	out = append(out, 1, 0, 0, 0)
	out = append(append(out, salt[:8]...), 0)
	out = binary.LittleEndian.AppendUint16(out, capOffered&0xffff)
	out = append(out, 45, 2, 0)
	out = binary.LittleEndian.AppendUint16(out, capOffered>>16)
	out = append(append(out, 21), make([]byte, 10)...)
	out = append(append(out, salt[8:]...), 0)
	return append(out, method+"\x00"...)
}

// parse reads the answer to the greeting.
func parse(answer []byte) (user string, proof []byte, plugin string, err error) {
	damaged := errors.New("the login was refused: it is not one of MariaDB")
	if len(answer) < 33 {
		return "", nil, "", damaged
	}
	caps, rest := binary.LittleEndian.Uint32(answer), answer[32:]
	name, rest, found := bytes.Cut(rest, []byte{0})
	if !found || len(rest) == 0 || int(rest[0]) > len(rest)-1 || rest[0] > 250 {
		return "", nil, "", damaged
	}
	proof, rest = rest[1:1+rest[0]], rest[1+rest[0]:]
	if caps&capDB != 0 {
		_, rest, _ = bytes.Cut(rest, []byte{0})
	}
	if caps&capPlugin != 0 {
		of, _, _ := bytes.Cut(rest, []byte{0})
		plugin = string(of)
	}
	return string(name), proof, plugin, nil
}

// proves reports whether a proof is that of a password.
func proves(proof, salt []byte, password string) bool {
	if password == "" || len(proof) != sha1.Size {
		return false
	}
	once := sha1.Sum([]byte(password))                       //nolint:gosec // see above
	twice := sha1.Sum(once[:])                               //nolint:gosec // see above
	mask := sha1.Sum(append(bytes.Clone(salt), twice[:]...)) //nolint:gosec // see above
	for i := range mask {
		mask[i] ^= once[i]
	}
	return subtle.ConstantTimeCompare(mask[:], proof) == 1
}
