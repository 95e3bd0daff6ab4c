package v1alpha1

import (
	"encoding/json"
	"testing"
)

// TestSetting: a setting is the text that the server gets, and is written as it was read.
func TestSetting(t *testing.T) {
	for in, text := range map[string]string{
		`500`: "500", `-1`: "-1", `4294967296`: "4294967296", `9007199254740992`: "9007199254740992",
		`"2G"`: "2G", `"4294967296"`: "4294967296",
		`""`: "", `"a\"b"`: `a"b`, `18446744073709551615`: "18446744073709551615", `75.5`: "75.5",
	} {
		var s Setting
		if err := json.Unmarshal([]byte(in), &s); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if out, err := json.Marshal(s); err != nil || string(out) != in || s.String() != text {
			t.Errorf("%s is %q, and is written as %s, %v", in, s, out, err)
		}
	}
	var s Setting
	if err := json.Unmarshal([]byte(`1e+09`), &s); err != nil || s.String() != "1000000000" {
		t.Errorf("%q, %v", s, err)
	}
	if err := json.Unmarshal([]byte(`true`), &s); err == nil {
		t.Error("a truth value is taken for a setting")
	}
	if s != (Setting{Text: "1000000000", Number: true}) || (Setting{Text: "1"}) == (Setting{Text: "1", Number: true}) {
		t.Error("settings do not compare")
	}
}
