package v1alpha1

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asString are calls of CEL's quantity() with a literal, or with a value that was made a string before.
var asString = regexp.MustCompile(`quantity\((?:string\(|'+[0-9])`)

// TestQuantitiesMayBeNumbers: Kubernetes takes a quantity as a number, too, and CEL's quantity() takes a string only.
func TestQuantitiesMayBeNumbers(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	calls := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Count(string(text), "quantity(")
		if good := len(asString.FindAllString(string(text), -1)); good != all {
			t.Errorf("%s: %d of %d calls of quantity() refuse a number: write quantity(string(…))", file, all-good, all)
		}
		calls += all
	}
	if calls == 0 {
		t.Error("no call was found")
	}
}
