package metrics

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeForms are how the server writes points in time: the ends of certificates, and its own.
var timeForms = []string{"Jan _2 15:04:05 2006 MST", time.DateTime}

// number is a value as mysqld_exporter reads it; ok is false for one that is none.
func number(raw []byte) (value float64, ok bool) {
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && !math.IsNaN(n) {
		return n, true
	}
	switch strings.ToLower(string(raw)) {
	case "yes", "on", "primary":
		return 1, true
	case "no", "off", "disabled", "connecting", "non-primary", "disconnected":
		return 0, true
	}
	if bytes.IndexByte(raw, ':') < 0 {
		return 0, false
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, string(raw)); err == nil {
			return float64(t.Unix()), true
		}
	}
	return 0, false
}
