package mycnf

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// setting is a name in backticks.
	setting = regexp.MustCompile("`([a-z][a-z_0-9]*)`")
	// withSkip are owned settings whose usual name has the prefix that Normalise drops.
	withSkip = map[string]string{"networking": "skip_networking", "name-resolve": "skip_name_resolve",
		"grant-tables": "skip_grant_tables"}
)

// TestPageListsSettings: docs/settings.md names what is refused, and what of wsrep_* is allowed.
func TestPageListsSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, refused, _ := strings.Cut(string(page), "## What is refused\n")
	refused, allowed, found := strings.Cut(refused, "Allowed are: ")
	if !found {
		t.Fatal("the page has another form")
	}
	var want []string
	for name := range maps.Keys(owned) {
		if long, ok := withSkip[name]; ok {
			name = long
		}
		want = append(want, strings.ReplaceAll(name, "-", "_"))
	}
	table := ""
	for line := range strings.Lines(refused) {
		if strings.HasPrefix(line, "|") {
			table += line
		}
	}
	compare(t, "refused", table, want)
	want = nil
	for _, name := range wsrepAllowed {
		want = append(want, strings.ReplaceAll(name, "-", "_"))
	}
	compare(t, "allowed", allowed, want)
}

func compare(t *testing.T, what, text string, want []string) {
	t.Helper()
	var got []string
	for _, m := range setting.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: docs/settings.md lists\n%v, the code\n%v", what, got, want)
	}
}
