package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// HeadSize is how many bytes of a manifest are read for what it says before its parts, which may be many.
const HeadSize = 16 << 10

// ErrCut is returned for a text that ends before the parts begin.
var ErrCut = errors.New("the manifest's head is longer than what was read")

// ParseHead reads what a manifest says before its parts, from its first bytes. Parts are missing in what it returns.
func ParseHead(text []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return m, errors.New("the manifest is damaged: it is no JSON object")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return m, cut(err)
		}
		if name == "parts" {
			return head(fields)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return m, cut(err)
		}
		fields[fmt.Sprint(name)] = value
	}
	if _, err := d.Token(); err != nil {
		return m, cut(err)
	}
	return m, errors.New("the manifest is damaged: it names no parts")
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return fmt.Errorf("the manifest is damaged: %w", err)
}

func head(fields map[string]json.RawMessage) (m Manifest, err error) {
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return m, fmt.Errorf("the manifest is damaged: %w", err)
	case m.Format > IncrementFormat:
		return m, fmt.Errorf("the manifest has format %d, and this program reads up to %d: use a later release", m.Format,
			IncrementFormat)
	case m.Format < 1 || m.ID == "" || m.CompletedAt.IsZero():
		return m, errors.New("the manifest is damaged: it names no format, no ID or no time")
	case !m.Base.fits(m):
		return m, fmt.Errorf("the manifest is damaged: format %d, base %+v", m.Format, m.Base)
	}
	return m, nil
}
