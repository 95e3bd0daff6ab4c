package mariadbd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// ErrNoPosition is returned by Recover when mariadbd printed no position.
var ErrNoPosition = errors.New("mariadbd --wsrep-recover printed no position")

// recovered precedes the position in mariadbd's output; there is no other way to get it.
const recovered = "WSREP: Recovered position:"

// RecoverError is a failed recovery with what mariadbd said.
type RecoverError struct {
	Exit Exit
	Err  error
}

// Error implements error.
func (e *RecoverError) Error() string {
	if why := Why(e.Exit.Lines); why != "" {
		return fmt.Sprintf("%v (exit code %d): %s", e.Err, e.Exit.Code, why)
	}
	return fmt.Sprintf("%v (exit code %d)", e.Err, e.Exit.Code)
}

// Unwrap implements errors.Unwrap.
func (e *RecoverError) Unwrap() error { return e.Err }

// Recovered is what --wsrep-recover found.
type Recovered struct {
	Position galera.Position
	// Start is the position as mariadbd printed it, for --wsrep-start-position. With wsrep_gtid_mode a
	// GTID follows the seqno.
	Start string
}

// Recover finds the position the database in the data directory stands at. The zero UUID with seqno
// −1 means that it has no Galera history.
func Recover(ctx context.Context, table *platform.ProcessTable, c Command) (Recovered, error) {
	c.Args = append(append([]string{}, c.Args...), "--wsrep-recover", "--disable-log-error", "--skip-networking",
		"--skip-ssl",
		"--secure-file-priv=") // its directory may not be there yet
	exit, err := Run(ctx, table, c)
	if err != nil {
		return Recovered{}, &RecoverError{exit, err}
	}
	found, ok := parseRecovered(exit.Lines)
	if !ok || exit.Code != 0 {
		return Recovered{}, &RecoverError{exit, ErrNoPosition}
	}
	return found, nil
}

// parseRecovered finds the recovered position among log lines; the last one counts.
func parseRecovered(lines []string) (Recovered, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		_, after, ok := strings.Cut(lines[i], recovered)
		if !ok {
			continue
		}
		start := strings.TrimSpace(after)
		position, _, _ := strings.Cut(start, ",")
		pos, err := galera.ParsePosition(position)
		if err != nil {
			return Recovered{}, false
		}
		return Recovered{Position: pos, Start: start}, true
	}
	return Recovered{}, false
}

// First returns the path of the first of the programs that PATH, or the usual directories, has; "" for none.
func First(names ...string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin") {
		for _, name := range names {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}
