package resources

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCollectorsDoNotCollide: what the field allows are collectors whose metrics begin with mysql_perf_schema_ and
// mysql_info_schema_; none of the agent's does (test/e2e compares what both serve).
func TestCollectorsDoNotCollide(t *testing.T) {
	crd, err := os.ReadFile("../../config/crd/bases/galera-operator.io_galeraclusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)collectors:\n.*?enum:\n((?:\s+- [a-z_.]+\n)+)`).FindStringSubmatch(string(crd))
	if list == nil {
		t.Fatal("the CRD has no list of collectors")
	}
	names := strings.Fields(strings.ReplaceAll(list[1], "- ", ""))
	if len(names) < 10 {
		t.Errorf("only %q", names)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "perf_schema.") && !strings.HasPrefix(name, "info_schema.") {
			t.Errorf("%s may have the agent's metrics", name)
		}
	}
}
