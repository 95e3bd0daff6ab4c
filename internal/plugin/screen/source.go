package screen

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Source is what a server is like that may be copied, and what keeps it from that.
func (s Style) Source(address string, is task.Source) string {
	out := fmt.Sprintf("%s: %s, %s, about %d MiB", Plain(address), Plain(is.Version), galera.Count(is.Tables, "table"),
		(is.Bytes+1<<20-1)>>20)
	if is.GTID != "" {
		out += ", at the GTID " + Plain(is.GTID)
	}
	out += "\n"
	for _, f := range is.Findings {
		out += "\n" + s.note(red, "✗ "+f.Name, findingText(f))
	}
	for _, f := range is.Warnings {
		out += "\n" + s.note(yellow, "! "+f.Name, findingText(f))
	}
	if len(is.Findings) == 0 {
		out += s.paint(green, "✓") + " it can be copied\n"
	}
	return out
}

// findingText is a finding, with some of its objects.
func findingText(f task.Finding) string {
	if len(f.Objects) == 0 {
		return f.Message
	}
	objects := strings.Join(f.Objects, ", ")
	if more := f.Count - len(f.Objects); more > 0 {
		objects += fmt.Sprintf(" and %d more", more)
	}
	return objects + ": " + f.Message
}
