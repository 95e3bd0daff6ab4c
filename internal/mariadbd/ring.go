package mariadbd

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// ringSize is how many of the server's last lines are kept for failure messages.
const ringSize = 200

// Ring keeps the last lines of a server's log.
type Ring struct {
	mu    sync.Mutex
	lines []string
}

// Add appends a line.
func (r *Ring) Add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) >= ringSize {
		r.lines = slices.Delete(r.lines, 0, len(r.lines)-ringSize+1)
	}
	r.lines = append(r.lines, line)
}

// Lines returns a copy of what is kept, oldest first.
func (r *Ring) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// marks are the patterns of log lines that explain why a server or a script gave up, the more specific first.
var marks = [][]string{
	slices.Concat(diskFull, diverged, badSetting),
	{"[ERROR]", "mariadbd: Can't"},
	{"[Warning] WSREP", "WSREP_SST: [WARNING]"},
}

// noise is what every failing start repeats without saying why, or what only follows from the reason.
var noise = []string{"[ERROR] Aborting", "WSREP: gcs", "gcs_core_open()", "gcs_open()", "wsrep::connect(",
	"State wait was interrupted",
	"View callback failed", "Failed to create a new provider", "WSREP: Failed to load provider",
	"registration as a STORAGE ENGINE failed",
	"Unknown/unsupported storage engine: InnoDB", "Plugin initialization aborted", "Failed to read 'ready", "at /home/",
	"at ./", "Will never receive state",
	"Could not open state file", "last inactive check more than", "Cleanup after exit", "] Removing ",
	"Failed to read from: wsrep_sst", "Process completed with error: wsrep_sst"}

const (
	keptLines   = 3
	keptPerLine = 300
)

// Why picks the lines that explain why a server gave up, at most three, oldest first.
func Why(lines []string) string {
	for _, set := range marks {
		var found []string
		for _, line := range lines {
			if containsAny(line, set) && !containsAny(line, noise) {
				line = strip(line)
				if !slices.Contains(found, line) {
					found = append(found, line)
				}
			}
		}
		if n := len(found); n > 0 {
			return strings.Join(found[max(0, n-keptLines):], "; ")
		}
	}
	return ""
}

func containsAny(line string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(line, p) })
}

// statements are what begins the text of a statement: in an applier's line, and in that of a node whose statement the
// group refuses. It may hold a password, for instance in a CREATE USER that was refused, and many may read the status.
var statements = []string{" Query: '", ", sql: "}

// strip takes off the time stamp, the level and the text of a statement, and shortens.
func strip(line string) string {
	for _, mark := range []string{"[ERROR] ", "[Warning] ", "[WARNING] "} {
		if _, after, ok := strings.Cut(line, mark); ok {
			line = after
			break
		}
	}
	for _, begin := range statements {
		line, _, _ = strings.Cut(line, begin)
	}
	// mbstream rings the bell
	line = strings.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if len(line) > keptPerLine {
		line = line[:keptPerLine] + "…"
	}
	return line
}
