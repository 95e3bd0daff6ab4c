package monitoring

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEachAlertHasARunbook, of the same form, and each runbook an alert.
func TestEachAlertHasARunbook(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*.md"))
	must(t, err)
	pages := map[string]bool{}
	for _, file := range files {
		pages[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	for _, r := range shipped(t).rules() {
		if !pages[r.Alert] {
			t.Errorf("%s has no runbook", r.Alert)
			continue
		}
		delete(pages, r.Alert)
		if want := "https://github.com/galera-operator/galera-operator/blob/main/docs/runbooks/" + r.Alert +
			".md"; r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %s", r.Alert, r.Annotations["runbook_url"])
		}
		text := string(read(t, root, "docs", "runbooks", r.Alert+".md"))
		at := 0
		for _, part := range []string{"# " + r.Alert + "\n\n", "**" + strings.ToUpper(r.Labels["severity"][:1]) +
			r.Labels["severity"][1:] + ".** ", "\n## Meaning\n\n", "\n## What to look at\n\n", "\n## What to do\n\n"} {
			i := strings.Index(text[at:], part)
			if i < 0 {
				t.Errorf("the runbook of %s has no %q where it should", r.Alert, part)
				break
			}
			at += i
		}
	}
	if len(pages) > 0 {
		t.Errorf("runbooks without an alert: %v", pages)
	}
}

// TestMonitoringDescribesEachAlert, with its severity.
func TestMonitoringDescribesEachAlert(t *testing.T) {
	text := string(read(t, root, "docs", "monitoring.md"))
	for _, r := range shipped(t).rules() {
		if row := "| [" + r.Alert + "](runbooks/" + r.Alert + ".md) | " + r.Labels["severity"] +
			" | "; !strings.Contains(text, row) {
			t.Errorf("docs/monitoring.md has no row %q", row)
		}
	}
}
