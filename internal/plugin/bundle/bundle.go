// Package bundle is an archive for support: texts without secrets, and a page that describes what is in it, what was
// taken out, and what is missing.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/plugin/redact"
)

// readme is the page that describes what is in a bundle.
const readme = "README.txt"

// Bundle collects files in memory. Each passes the Redactor: nothing gets past it.
type Bundle struct {
	// Title is the first line of the page, and Name the directory in the archive.
	Title, Name string
	Redactor    *redact.Redactor
	files       map[string]string
	missing     []string
}

// New returns an empty Bundle.
func New(name, title string, r *redact.Redactor) *Bundle {
	return &Bundle{Title: title, Name: name, Redactor: r, files: map[string]string{}}
}

// Add adds a file without its secrets.
func (b *Bundle) Add(path, text string) { b.files[path] = b.Redactor.Text(text) }

// Miss describes what could not be had, and why.
func (b *Bundle) Miss(what string, err error) {
	b.missing = append(b.missing, b.Redactor.Text(fmt.Sprintf("%s: %s", what, err)))
}

// Missing is what could not be had.
func (b *Bundle) Missing() []string { return b.missing }

// Files are the names of the files, in order.
func (b *Bundle) Files() []string { return slices.Sorted(maps.Keys(b.files)) }

// page describes what is in the bundle.
func (b *Bundle) page() string {
	var s strings.Builder
	section := func(title string, lines []string, none string) {
		if len(lines) == 0 {
			lines = []string{none}
		}
		s.WriteString("\n" + title + "\n" + strings.Repeat("-", len(title)) + "\n" + strings.Join(lines, "\n") + "\n")
	}
	s.WriteString(b.Title + "\n")
	section("Taken out", b.Redactor.Summary(), "nothing was found to be taken out")
	s.WriteString(
		"\nSecrets are not in here: secrets.txt has their names and the names and sizes of their keys. Values that were " +
			"known, and what looks like a\n" +
			"password, a key or a token, stand as [REDACTED] in all files. Names of hosts, databases and accounts, and " +
			"addresses, are left in.\n" +
			"Read it before you send it.\n")
	section("Missing", b.missing, "nothing")
	section("Files", b.Files(), "none")
	return s.String()
}

// Write writes the archive, a gzipped tar.
func (b *Bundle) Write(w io.Writer, now time.Time) error {
	packed := gzip.NewWriter(w)
	archive := tar.NewWriter(packed)
	put := func(path, text string) error {
		if err := archive.WriteHeader(&tar.Header{Name: b.Name + "/" + path, Mode: 0o600, Size: int64(len(text)),
			ModTime: now}); err != nil {
			return err
		}
		_, err := io.WriteString(archive, text)
		return err
	}
	if err := put(readme, b.page()); err != nil {
		return err
	}
	for _, path := range b.Files() {
		if err := put(path, b.files[path]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}
