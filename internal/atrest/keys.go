// Package atrest is about encryption at rest: the key file of MariaDB's file_key_management, and the marks that
// distinguish an encrypted file from one in clear. It is pure, and shared by the operator, the agents, and the program
// in the Jobs of backups.
package atrest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // MariaDB derives the key of the key file by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Keys of the Secret with the encryption keys, and names of the files that MariaDB reads.
const (
	// KeyFile has the keys, encrypted by what is in PasswordFile.
	KeyFile = "keys.enc"
	// PasswordFile has the password of KeyFile.
	PasswordFile = "password"
)

// systemKey is the number of the key that MariaDB encrypts with. It must be in the file.
const systemKey = 1

const (
	maxFile     = 64 << 10
	maxPassword = 256 // MariaDB reads no more of it
	maxKeys     = 64
	saltSize    = 8
)

// saltMark begins a file that openssl enc has written.
var saltMark = []byte("Salted__")

// Make returns a key file with one new key of 256 bits, and its password.
func Make() (keyFile, password []byte, err error) {
	random := make([]byte, 32+32+saltSize)
	if _, err := rand.Read(random); err != nil {
		return nil, nil, err
	}
	key, secret, salt := random[:32], random[32:64], random[64:]
	password = []byte(hex.EncodeToString(secret))
	keyFile, err = seal([]byte(fmt.Sprintf("%d;%s\n", systemKey, hex.EncodeToString(key))), password, salt)
	return keyFile, password, err
}

// seal encrypts a key file as openssl enc -aes-256-cbc -md sha1 does, which is what MariaDB reads.
func seal(plain, password, salt []byte) ([]byte, error) {
	key, iv := derive(password, salt)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	text := append(slices.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(text, text)
	return slices.Concat(saltMark, salt, text), nil
}

// derive makes key and IV of a password.
func derive(password, salt []byte) (key, iv []byte) {
	var all, last []byte
	for len(all) < 32+aes.BlockSize {
		sum := sha1.Sum(slices.Concat(last, password, salt)) //nolint:gosec // see above
		last = sum[:]
		all = append(all, last...)
	}
	return all[:32], all[32 : 32+aes.BlockSize]
}

// Fingerprints opens a key file, and returns a fingerprint of each key by its number. Errors never quote what is in the
// files. A fingerprint is an HMAC by the key itself: it distinguishes keys, and reveals nothing of them.
func Fingerprints(keyFile, password []byte) (map[string]string, error) {
	plain, err := unseal(keyFile, password)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, line := range strings.Split(string(plain), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the decrypted key file: %w", i+1, err)
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("the key file has two keys of the number %s", id)
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte("galera-operator.io/fingerprint/" + id))
		out[id] = hex.EncodeToString(mac.Sum(nil)[:16])
	}
	switch {
	case out[strconv.Itoa(systemKey)] == "":
		return nil, fmt.Errorf("the key file has no key %d, which MariaDB encrypts with", systemKey)
	case len(out) > maxKeys:
		return nil, fmt.Errorf("the key file has %d keys, more than %d", len(out), maxKeys)
	}
	return out, nil
}

// unseal decrypts a key file.
func unseal(keyFile, password []byte) ([]byte, error) {
	password = bytes.TrimRight(password, "\r\n")
	switch {
	case len(keyFile) == 0:
		return nil, fmt.Errorf("there is no %s", KeyFile)
	case len(password) == 0:
		return nil, fmt.Errorf("there is no %s", PasswordFile)
	case len(keyFile) > maxFile || len(password) > maxPassword:
		return nil, fmt.Errorf("%s has more than %d bytes, or %s more than %d", KeyFile, maxFile, PasswordFile, maxPassword)
	case !bytes.HasPrefix(keyFile, saltMark):
		return nil, fmt.Errorf("%s is not encrypted: encrypt it with openssl enc -aes-256-cbc -md sha1", KeyFile)
	}
	salted := keyFile[len(saltMark):]
	if len(salted) < saltSize+aes.BlockSize || (len(salted)-saltSize)%aes.BlockSize != 0 {
		return nil, fmt.Errorf("%s is truncated: it has %d bytes", KeyFile, len(keyFile))
	}
	key, iv := derive(password, salted[:saltSize])
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	plain := slices.Clone(salted[saltSize:])
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, plain)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > aes.BlockSize || !bytes.Equal(plain[len(plain)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, fmt.Errorf("%s cannot be decrypted: %s is not its password, or the file is truncated", KeyFile,
			PasswordFile)
	}
	return plain[:len(plain)-pad], nil
}

var errKey = errors.New("it is not NUMBER;KEY with a key of 16, 24 or 32 bytes in hexadecimal")

// parseKey reads one line of a key file.
func parseKey(line string) (id string, key []byte, err error) {
	number, text, found := strings.Cut(line, ";")
	n, err := strconv.ParseUint(number, 10, 32)
	if !found || err != nil || n == 0 || n > 255 {
		return "", nil, errKey
	}
	key, err = hex.DecodeString(text)
	if err != nil || !slices.Contains([]int{16, 24, 32}, len(key)) {
		return "", nil, errKey
	}
	return strconv.FormatUint(n, 10), key, nil
}

// Differ explains how the keys of a Secret differ from those that the data were encrypted with, "" when every key that
// is needed is there with the same bytes. More keys are no difference.
func Differ(needed, have map[string]string) string {
	for _, id := range slices.Sorted(maps.Keys(needed)) {
		switch have[id] {
		case needed[id]:
		case "":
			return fmt.Sprintf("key %s (fingerprint %s) is missing", id, needed[id])
		default:
			return fmt.Sprintf("key %s has other bytes: its fingerprint is %s, and the data were encrypted with %s", id,
				have[id], needed[id])
		}
	}
	return ""
}
