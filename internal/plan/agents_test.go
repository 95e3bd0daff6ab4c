package plan

import "testing"

func TestNextAgent(t *testing.T) {
	const old, current = "a", "b"
	all := func(edit func([]Agent)) []Agent {
		out := []Agent{{Name: "0", Digest: old, Arch: "amd64", Answers: true},
			{Name: "1", Digest: old, Arch: "amd64", Answers: true},
			{Name: "2", Digest: old, Arch: "amd64", Answers: true}}
		if edit != nil {
			edit(out)
		}
		return out
	}
	for name, c := range map[string]struct {
		edit func([]Agent)
		want string
	}{
		"the last one first": {nil, "2"},
		"one that is new":    {func(a []Agent) { a[2].Digest = current }, "1"},
		"all are": {func(a []Agent) {
			a[0].Digest, a[1].Digest, a[2].Digest = current, current,
				current
		}, ""},
		"the primary last": {func(a []Agent) { a[2].Primary = true }, "1"},
		"the primary, when it is the only": {func(a []Agent) {
			a[2].Primary, a[0].Digest, a[1].Digest = true, current,
				current
		}, "2"},
		"the primary waits for one that waits": {func(a []Agent) {
			a[2].Primary, a[0].Digest, a[1].Wait = true, current,
				true
		}, ""},
		"one that does not answer":             {func(a []Agent) { a[2].Answers = false }, "1"},
		"one that cannot be replaced in place": {func(a []Agent) { a[2].Digest = "" }, "1"},
		"one on another processor":             {func(a []Agent) { a[2].Arch = "arm64" }, "1"},
		"the primary, next to such ones": {func(a []Agent) { a[2].Primary, a[0].Digest, a[1].Arch = true, "", "arm64" },
			"2"},
	} {
		if got := NextAgent(all(c.edit), current, "amd64"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
