package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/test/docs/blocks"
)

// TestMarkedBlocksAreRun: the pages that test/e2e runs have marked blocks, and no other page has any.
func TestMarkedBlocksAreRun(t *testing.T) {
	for page, text := range pages(t) {
		found, err := blocks.Of(text)
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		if run := slices.Contains(blocks.Pages, page); run != (len(found) > 0) {
			t.Errorf("%s has %d marked blocks; test/e2e runs it: %t", page, len(found), run)
		}
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") && strings.HasSuffix(line, " test") && line != blocks.Marker {
				t.Errorf("%s:%d: a block that is run begins with %q", page, i+1, blocks.Marker)
			}
		}
	}
}
