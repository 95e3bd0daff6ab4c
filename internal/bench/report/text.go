package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// part is a table with a title, and a note below it. The first row is the heading.
type part struct {
	title, note string
	rows        [][]string
}

// write writes tables for a terminal or as Markdown, and lines below them.
func write(w io.Writer, format string, parts []part, lines []string) error {
	var text strings.Builder
	for _, p := range parts {
		switch format {
		case "table":
			fmt.Fprintln(&text, p.title)
			t := tabwriter.NewWriter(&text, 0, 4, 2, ' ', 0)
			for _, row := range p.rows {
				_, _ = fmt.Fprintln(t, strings.Join(row, "\t")) // Flush returns the error
			}
			if err := t.Flush(); err != nil {
				return err
			}
		case "md":
			fmt.Fprintf(&text, "## %s\n\n", p.title)
			for i, row := range p.rows {
				fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
				if i == 0 {
					text.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
				}
			}
			text.WriteString("\n")
		default:
			return fmt.Errorf("unknown format %q: use table, md, json, csv or svg", format)
		}
		if p.note != "" {
			text.WriteString(p.note + "\n")
		}
		text.WriteString("\n")
	}
	for _, line := range lines {
		text.WriteString("- " + line + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
