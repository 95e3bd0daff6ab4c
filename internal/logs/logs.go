// Package logs writes the log of every program of this project but the operator's, as text or as JSON, one record a
// line. The operator's (cmd/manager) has the same keys.
package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Format is how records are written.
type Format string

// The formats. Text is the default.
const (
	Text Format = "text"
	JSON Format = "json"
)

// EnvFormat names the format to programs that have no other setting.
const EnvFormat = "GALERA_LOG_FORMAT"

// Parse reads a format; "" is Text.
func Parse(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return Text, nil
	case Text, JSON:
		return f, nil
	}
	return Text, fmt.Errorf("a log is written as %s or %s, not as %q", Text, JSON, s)
}

// Sink is where a program's records go, and the lines of the programs it runs. Nothing is torn, and nothing is held
// back. Safe for concurrent use.
type Sink struct {
	mu   sync.Mutex
	w    *bufio.Writer
	json atomic.Bool

	handler handler
}

// New returns a sink that writes text.
func New(w io.Writer) *Sink {
	s := &Sink{w: bufio.NewWriter(w)}
	s.handler = handler{sink: s, text: slog.NewTextHandler(s, nil), json: slog.NewJSONHandler(s, nil)}
	return s
}

// FromEnv returns a sink with the format the environment names.
func FromEnv(w io.Writer) *Sink {
	s := New(w)
	s.SetFormat(Format(os.Getenv(EnvFormat)))
	return s
}

// SetFormat takes effect with the next record. What is no format is Text.
func (s *Sink) SetFormat(f Format) { s.json.Store(f == JSON) }

// Write writes whole records.
func (s *Sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.w.Write(p)
	if flushErr := s.w.Flush(); err == nil {
		err = flushErr
	}
	return n, err
}

// Logger returns the logger of the program itself.
func (s *Sink) Logger() *slog.Logger { return slog.New(s.handler) }

// Entry is a line of another program, taken apart.
type Entry struct {
	// Time is when it was written, zero when it does not say so.
	Time time.Time
	// Level is its severity.
	Level slog.Level
	// Subsystem is the part of the program that speaks, "" when it names none. Thread is its thread, "" likewise.
	Subsystem, Thread string
	// Text is all the rest.
	Text string
}

// Line writes a line of another program: as it is, or, as JSON, taken apart by parse. The line is called that of
// source.
func (s *Sink) Line(source, line string, parse func(line string) Entry) {
	if !s.json.Load() {
		_, _ = s.Write(append([]byte(line), '\n')) // a log that cannot be written keeps nothing from being done
		return
	}
	e := parse(line)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	r := slog.NewRecord(e.Time, e.Level, printable(e.Text), 0)
	r.AddAttrs(slog.String("source", source))
	if e.Subsystem != "" {
		r.AddAttrs(slog.String("subsystem", printable(e.Subsystem)))
	}
	if e.Thread != "" {
		r.AddAttrs(slog.String("thread", e.Thread))
	}
	_ = s.handler.json.Handle(context.Background(), r)
}

// Writer writes the output of another program line by line. Close writes what has no end of line.
func (s *Sink) Writer(source string) io.WriteCloser { return &lines{sink: s, source: source} }

// lines cuts what a program prints.
type lines struct {
	sink   *Sink
	source string
	mu     sync.Mutex
	rest   []byte
}

// longest is the longest line that is kept together.
const longest = 64 << 10

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			break
		}
		l.line(l.rest[:end])
		l.rest = l.rest[end+1:]
	}
	if len(l.rest) >= longest {
		l.line(l.rest)
		l.rest = nil
	}
	return len(p), nil
}

// Close implements io.Closer.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.line(l.rest)
		l.rest = nil
	}
	return nil
}

func (l *lines) line(text []byte) {
	l.sink.Line(l.source, string(bytes.TrimRight(text, "\r")), Whole)
}

// Whole is an entry for a line that says nothing of itself.
func Whole(line string) Entry { return Entry{Level: slog.LevelInfo, Text: line} }
