package measure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// opensslNames of ciphers.
var opensslNames = map[string]string{
	"TLS_AES_128_GCM_SHA256": "aes-128-gcm", "TLS_AES_256_GCM_SHA384": "aes-256-gcm",
	"TLS_CHACHA20_POLY1305_SHA256": "chacha20-poly1305",
	"AES-128-CTR":                  "aes-128-ctr",
}

// cipher lets OpenSSL's own program measure one cipher on one CPU.
func (r *runner) cipher(ctx context.Context) error {
	c := r.plan.Cipher
	r.out.Environment.OpenSSL = firstLine(r.openssl(ctx, "version"))
	before := children()
	r.out.StartedAt = time.Now()
	text, err := r.openssl(ctx, "speed", "-mr", "-seconds", strconv.Itoa(c.Seconds), "-evp", opensslNames[c.Name])
	r.out.EndedAt = time.Now()
	r.out.Client.CPUSeconds = children() - before
	if err != nil {
		return fmt.Errorf("openssl speed: %w", err)
	}
	r.out.Cipher, err = speeds(text)
	return err
}

// openssl returns what it wrote; an error has its last complaint.
func (r *runner) openssl(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "openssl", args...).Output()
	r.log.Write(out)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		r.log.Write(failed.Stderr)
		if last := result.LastWords(string(failed.Stderr), 1); len(last) > 0 {
			err = errors.New(last[0])
		}
	}
	return string(out), err
}

// firstLine is what a version is reported in; unknown is "".
func firstLine(text string, _ error) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// speeds reads what "openssl speed -mr" writes: a line +H with the sizes of records in bytes, and a line +F with a
// number, the cipher's name and the bytes per second for each of them.
func speeds(text string) (*result.CipherResult, error) {
	var sizes, rates []string
	for line := range strings.SplitSeq(text, "\n") {
		switch f := strings.Split(strings.TrimSpace(line), ":"); {
		case f[0] == "+H":
			sizes = f[1:]
		case f[0] == "+F" && len(f) > 3:
			rates = f[3:]
		}
	}
	if len(sizes) == 0 || len(sizes) != len(rates) {
		return nil, errors.New("openssl speed wrote no figures")
	}
	out := &result.CipherResult{}
	for i, size := range sizes {
		record, err1 := strconv.Atoi(size)
		rate, err2 := strconv.ParseFloat(rates[i], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("a figure of openssl speed: %w", err)
		}
		if result.CipherFigures[record] != "" && rate > 0 {
			out.Speeds = append(out.Speeds, result.Speed{Record: record, Megabytes: rate / 1e6})
		}
	}
	return out, nil
}
