package harness

import (
	"os"
	"strings"
	"testing"
)

func TestUsageOfThisProcess(t *testing.T) {
	if _, err := ProcessorTime(os.Getpid()); err != nil {
		t.Error(err)
	}
	if n, err := residentMemory(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("residentMemory = %d, %v", n, err)
	}
}

func TestPartitionRules(t *testing.T) {
	rules := partitionRules([][]string{{"10.0.0.1"}, {"10.0.0.2", "10.0.0.3"}})
	for _, want := range []string{
		"ip saddr { 10.0.0.1 } ip daddr { 10.0.0.2, 10.0.0.3 } drop",
		"ip saddr { 10.0.0.2, 10.0.0.3 } ip daddr { 10.0.0.1 } drop",
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("the rules lack %q:\n%s", want, rules)
		}
	}
	if strings.Count(rules, "drop") != 2 {
		t.Errorf("the rules cut too much:\n%s", rules)
	}
}
