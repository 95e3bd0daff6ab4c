package datadir

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// grastateFile is where Galera keeps a stopped node's position.
const grastateFile = "grastate.dat"

// errBadGrastate is returned for a grastate.dat that is not what Galera writes.
var errBadGrastate = errors.New("grastate.dat is damaged")

// Grastate is the content of grastate.dat.
type Grastate struct {
	Position        galera.Position
	SafeToBootstrap bool
}

// parseGrastate reads the text of a grastate.dat. A file that lacks its uuid or seqno is
// damaged, never taken for an empty history.
func parseGrastate(text string) (Grastate, error) {
	var g Grastate
	var uuid, seqno string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "uuid":
			uuid = value
		case "seqno":
			seqno = value
		case "safe_to_bootstrap":
			g.SafeToBootstrap = value == "1"
		}
	}
	pos, err := galera.ParsePosition(uuid + ":" + seqno)
	if err != nil {
		return Grastate{}, fmt.Errorf("%w: %w", errBadGrastate, err)
	}
	g.Position = pos
	return g, nil
}

// render returns the text Galera itself would write.
func (g Grastate) render() string {
	safe := "0"
	if g.SafeToBootstrap {
		safe = "1"
	}
	return "# GALERA saved state\nversion: 2.1\nuuid:    " + g.Position.UUID +
		"\nseqno:   " + strconv.FormatInt(g.Position.Seqno, 10) + "\nsafe_to_bootstrap: " + safe + "\n"
}

// ReadGrastate reads grastate.dat of a data directory. A missing file is an error that
// errors.Is recognises as fs.ErrNotExist.
func ReadGrastate(dir string) (Grastate, error) {
	data, err := os.ReadFile(filepath.Join(dir, grastateFile))
	if err != nil {
		return Grastate{}, err
	}
	return parseGrastate(string(data))
}

// PermitBootstrap sets safe_to_bootstrap, without which mariadbd refuses --wsrep-new-cluster. It
// keeps a good file's position and writes the given UUID with an undefined seqno otherwise: the
// position itself is always given on the command line.
func PermitBootstrap(dir string, pos galera.Position) error {
	g, err := ReadGrastate(dir)
	if err != nil || g.Position.UUID != pos.UUID {
		g = Grastate{Position: galera.Position{UUID: pos.UUID, Seqno: galera.UndefinedSeqno}}
	}
	g.SafeToBootstrap = true
	return WriteFile(filepath.Join(dir, grastateFile), []byte(g.render()), 0o660)
}

// ForgetSeqno makes a position in grastate.dat one that is not known, as after a crash: without one Galera requests an
// SST.
func ForgetSeqno(dir string) error {
	g, err := ReadGrastate(dir)
	if err != nil || !g.Position.Known() {
		return nil //nolint:nilerr // a file that cannot be read names no position
	}
	g.Position.Seqno, g.SafeToBootstrap = galera.UndefinedSeqno, false
	return WriteFile(filepath.Join(dir, grastateFile), []byte(g.render()), 0o660)
}
