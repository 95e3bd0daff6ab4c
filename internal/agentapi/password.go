package agentapi

import (
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the format of mysql_native_password
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"filippo.io/edwards25519"
)

// NativeHash returns the mysql_native_password hash of a password: how MariaDB and ProxySQL keep it.
func NativeHash(password string) string {
	first := sha1.Sum([]byte(password)) //nolint:gosec // see above
	second := sha1.Sum(first[:])        //nolint:gosec // see above
	return "*" + strings.ToUpper(hex.EncodeToString(second[:]))
}

// RootPassword is what a Secret's key RootPasswordKey holds without the end of its last line, which editors and echo
// add.
func RootPassword(raw []byte) string { return strings.TrimRight(string(raw), "\r\n") }

// Kept returns what the server keeps of a password with a plugin: mysql_native_password, ed25519 or parsec. The salt,
// which parsec alone needs, is one for an account: a caller that asks twice gets the same.
func Kept(plugin, password, salt string) (string, error) {
	switch plugin {
	case "mysql_native_password":
		if password == "" {
			return "", nil
		}
		return NativeHash(password), nil
	case "ed25519":
		return ed25519Key(password)
	case "parsec":
		return parsecKey(password, salt)
	}
	return "", fmt.Errorf("unknown plugin %q", plugin)
}

// ed25519Key is the public key of MariaDB's ed25519 plugin: that of ref10, in which the password itself takes the place
// of the 32 random bytes (plugin/auth_ed25519 in MariaDB's source).
func ed25519Key(password string) (string, error) {
	h := sha512.Sum512([]byte(password))
	s, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(edwards25519.NewIdentityPoint().ScalarBaseMult(s).Bytes()), nil
}

const parsecSalt = 18

// parsecKey is what MariaDB's parsec plugin keeps: P0, its salt, and the public ed25519 key whose seed is
// PBKDF2-HMAC-SHA512 of the password with 1024 rounds (plugin/auth_parsec in MariaDB's source).
func parsecKey(password, salt string) (string, error) {
	sum := sha256.Sum256([]byte(salt))
	seed, err := pbkdf2.Key(sha512.New, password, sum[:parsecSalt], 1024, ed25519.SeedSize)
	if err != nil {
		return "", err
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return "P0:" + base64.StdEncoding.EncodeToString(sum[:parsecSalt]) + ":" + base64.RawStdEncoding.EncodeToString(
		public), nil
}
