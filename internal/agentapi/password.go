package agentapi

import (
	"crypto/sha1" //nolint:gosec // the format of mysql_native_password
	"encoding/hex"
	"strings"
)

// NativeHash returns the mysql_native_password hash of a password: how MariaDB and ProxySQL keep it.
func NativeHash(password string) string {
	first := sha1.Sum([]byte(password)) //nolint:gosec // see above
	second := sha1.Sum(first[:])        //nolint:gosec // see above
	return "*" + strings.ToUpper(hex.EncodeToString(second[:]))
}

// RootPassword is what a Secret's key RootPasswordKey holds without the end of its last line, which editors and echo add.
func RootPassword(raw []byte) string { return strings.TrimRight(string(raw), "\r\n") }
