package logs

import (
	"context"
	"log/slog"
	"strconv"
	"unicode/utf8"
)

// handler writes records in the sink's present format.
type handler struct {
	sink       *Sink
	text, json slog.Handler
}

func (h handler) now() slog.Handler {
	if h.sink.json.Load() {
		return h.json
	}
	return h.text
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.now().Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error { return h.now().Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.sink, h.text.WithAttrs(attrs), h.json.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.sink, h.text.WithGroup(name), h.json.WithGroup(name)}
}

// printable is a line as JSON can hold it: bytes that are no text are written as \xff, because encoding/json would
// replace each by the same sign.
func printable(line string) string {
	if utf8.ValidString(line) {
		return line
	}
	out := make([]byte, 0, len(line)+8)
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		if r == utf8.RuneError && size == 1 {
			out = append(append(out, `\x`...), hexByte(line[0])...)
		} else {
			out = append(out, line[:size]...)
		}
		line = line[size:]
	}
	return string(out)
}

func hexByte(b byte) string {
	s := strconv.FormatUint(uint64(b), 16)
	return "00"[len(s):] + s
}
