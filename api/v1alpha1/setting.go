package v1alpha1

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Setting is the value of a server's setting: a string, or an integer. It keeps the digits of a number as they were
// written, and is written as the kind of value that it was read from, so that GitOps tools see no difference. An
// integer is at most 9007199254740992, which every JSON program keeps exactly: write a larger one as a string.
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XValidation:rule="type(self) == string || self <= 9007199254740992",message="write such a number as a string"
// +kubebuilder:validation:MaxLength=4096
type Setting struct {
	// Text is the value as the server gets it.
	Text string `json:"-"`
	// Number reports whether the value is a number in JSON.
	Number bool `json:"-"`
}

// String returns the value as the server gets it.
func (s Setting) String() string { return s.Text }

// UnmarshalJSON reads a string, or a number of any size. It fails for nothing that the API server admits.
func (s *Setting) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		s.Number = false
		return json.Unmarshal(data, &s.Text)
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("a setting is a string or a number: %w", err)
	}
	*s = Setting{Text: digits(number), Number: number != ""}
	return nil
}

// digits returns an integral number without an exponent: 1e+09, as the API server writes some, is 1000000000.
func digits(number json.Number) string {
	f, err := number.Float64()
	if _, whole := number.Int64(); whole == nil || err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return number.String()
	}
	return strconv.FormatInt(int64(f), 10)
}

// MarshalJSON writes the kind of value that was read.
func (s Setting) MarshalJSON() ([]byte, error) {
	if s.Number {
		return []byte(s.Text), nil
	}
	return json.Marshal(s.Text)
}
