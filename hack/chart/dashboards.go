package main

import (
	"os"
	"path/filepath"
)

// copyDashboards makes the dashboards of a folder those of the chart: Helm reads no file outside of it.
func copyDashboards(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(from, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
