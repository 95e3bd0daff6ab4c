package datadir

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Names of the marker files in the state directory.
const (
	joiningFile      = "joining.json"
	initialisingFile = "initialising.json"
	votedOutFile     = "votedout.json"
	settingsFile     = "settings.json"
	loggedFile       = "logged.json"
)

// Joining is the marker of a join that has begun and was not seen to end. It is kept next to the data directory, as an
// SST wipes that one.
type Joining struct {
	// Method is the state transfer method the join may use.
	Method string `json:"method"`
	// SST is true if an SST has begun, or must: the directory holds no database until the join has succeeded.
	SST bool `json:"transfer"`
	// Marked is true if only an SST can end the join. Until that begins the directory holds what it held before, at From:
	// a write that was acknowledged may be nowhere else on a disk yet.
	Marked bool `json:"marked,omitempty"`
	// Address is where the donor reaches the member, for as long as it tries to.
	Address string `json:"address,omitempty"`
	// From is the position the join started from, not known for an empty directory.
	From  galera.Position `json:"from,omitzero"`
	Since time.Time       `json:"since"`
}

// Markers reads and writes the markers.
type Markers struct {
	// Dir is the state directory.
	Dir string
}

// Joining returns the marker of an unfinished join, nil when there is none. A note that cannot be
// read counts as the worst one: something had begun.
func (m Markers) Joining() (*Joining, error) {
	data, err := os.ReadFile(filepath.Join(m.Dir, joiningFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j Joining
	if json.Unmarshal(data, &j) != nil {
		return &Joining{SST: true}, nil //nolint:nilerr // what was torn is worse than what is missing, not an error
	}
	return &j, nil
}

// SetJoining writes the marker.
func (m Markers) SetJoining(j Joining) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, joiningFile), data, 0o600)
}

// ClearJoining removes the marker: the join has succeeded.
func (m Markers) ClearJoining() error { return Remove(filepath.Join(m.Dir, joiningFile)) }

// Initialising reports whether an initialisation was begun and never seen to serve.
func (m Markers) Initialising() bool {
	_, err := os.Stat(filepath.Join(m.Dir, initialisingFile))
	return err == nil
}

// SetInitialising notes that an initialisation begins.
func (m Markers) SetInitialising() error {
	return WriteFile(filepath.Join(m.Dir, initialisingFile), []byte("{}\n"), 0o600)
}

// ClearInitialising removes that note.
func (m Markers) ClearInitialising() error { return Remove(filepath.Join(m.Dir, initialisingFile)) }

// VotedOut reports whether the group was seen to find the data to differ from the others'.
func (m Markers) VotedOut() bool {
	_, err := os.Stat(filepath.Join(m.Dir, votedOutFile))
	return err == nil
}

// SetVotedOut notes that it has.
func (m Markers) SetVotedOut() error {
	return WriteFile(filepath.Join(m.Dir, votedOutFile), []byte("{}\n"), 0o600)
}

// ClearVotedOut removes that note: the data have been replaced.
func (m Markers) ClearVotedOut() error { return Remove(filepath.Join(m.Dir, votedOutFile)) }

// Settings returns the settings the last server served with, nil when none are noted or the note cannot be read.
func (m Markers) Settings() map[string]string {
	data, err := os.ReadFile(filepath.Join(m.Dir, settingsFile))
	var settings map[string]string
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return nil
	}
	return settings
}

// SetSettings notes the settings a server serves with.
func (m Markers) SetSettings(settings map[string]string) error {
	data, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, settingsFile), data, 0o600)
}

// loggedNote is what loggedFile has.
type loggedNote struct {
	// Node is the namespace and the name of the node that has written it: a volume may be a copy of another member's.
	Node  string          `json:"node"`
	Since galera.Position `json:"since"`
}

// LoggedSince returns since where a node, by its namespace and name, has written a binary log of its own, not known
// when that is not noted, another node has noted it, or the note cannot be read.
func (m Markers) LoggedSince(node string) galera.Position {
	data, err := os.ReadFile(filepath.Join(m.Dir, loggedFile))
	var note loggedNote
	if err != nil || json.Unmarshal(data, &note) != nil || note.Node != node {
		return galera.Position{}
	}
	return note.Since
}

// SetLoggedSince notes it.
func (m Markers) SetLoggedSince(node string, p galera.Position) error {
	data, err := json.Marshal(loggedNote{Node: node, Since: p})
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(m.Dir, loggedFile), data, 0o600)
}

// ClearLoggedSince removes that note: the binary log is another one's, or ends.
func (m Markers) ClearLoggedSince() error { return Remove(filepath.Join(m.Dir, loggedFile)) }
