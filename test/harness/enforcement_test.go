package harness

import (
	"slices"
	"testing"
)

func TestParseRefusals(t *testing.T) {
	const listed = `table ip galera_test_policies {
	set refused {
		type ipv4_addr . ipv4_addr . inet_service
		size 65535
		flags dynamic
		elements = { 10.244.1.7 . 10.244.2.5 . 4567,
			     10.244.1.7 . 10.244.2.5 . 22 }
	}
}`
	want := []Refusal{{"10.244.1.7", "10.244.2.5", "4567"}, {"10.244.1.7", "10.244.2.5", "22"}}
	if got := parseRefusals(listed); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := parseRefusals("table ip t {\n\tset refused {\n\t\tsize 65535\n\t}\n}"); got != nil {
		t.Errorf("from an empty set: %v", got)
	}
}
