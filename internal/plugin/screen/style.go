// Package screen draws what `kubectl galera` shows to people. It is pure: the same objects give the same text.
package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Style of a screen.
type Style struct {
	// Width in characters. Text is wrapped at it; tables lose columns, and become lists. Commands stay whole: they are to
	// be copied.
	Width int
	// Colour reports whether the screen is a terminal's.
	Colour bool
	// Now is the time that ages are counted from.
	Now time.Time
}

// Colours, as terminals know them.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	dim    = "2"
)

func (s Style) paint(colour, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\033[" + colour + "m" + text + "\033[0m"
}

// words joins pieces with two spaces, and breaks lines between them.
func (s Style) words(pieces []cell) string {
	var b strings.Builder
	used := 0
	for i, p := range pieces {
		p.text = Plain(p.text)
		n := utf8.RuneCountInString(p.text)
		switch {
		case i > 0 && used+2+n > s.Width:
			b.WriteString("\n  ")
			used = 2
		case i > 0:
			b.WriteString("  ")
			used += 2
		}
		b.WriteString(s.paint(p.colour, p.text))
		used += n
	}
	return b.String() + "\n"
}

// note is a message behind a title, or below it where there is no space for it.
func (s Style) note(colour, title, text string) string { return s.noteWith(colour, title, text, "") }

// noteWith is a note with a command below it.
func (s Style) noteWith(colour, title, text, command string) string {
	title = Plain(title)
	indent := utf8.RuneCountInString(title) + 2
	between := "  "
	if s.Width-indent < minColumn {
		indent, between = 2, "\n  "
	}
	return s.paint(colour, title) + between + s.message(text, command, indent) + "\n"
}

// minColumn is the least number of characters that text is wrapped to.
const minColumn = 30

// wrap breaks text at the screen's width; all lines but the first are indented.
func (s Style) wrap(text string, indent int) string {
	width := max(20, s.Width-indent)
	var lines []string
	line := ""
	for _, word := range prose(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}

// Plain is text that others have written, as one line without control characters: none of it moves the cursor, changes
// colours or titles, or begins a line of its own.
func Plain(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Lines(text))
}

// Lines is the same for text that may have several lines.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.C, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}

// prose is text without what looks like a shell's prompt: a line that begins with one is the operator's or the plugin's
// own.
func prose(text string) []string {
	words := strings.Fields(Plain(text))
	return slices.DeleteFunc(words, func(w string) bool { return w == "$" || w == "#" })
}

// message wraps a text. A command is shown only where the caller has one from a typed field, on a line of its own, so
// that it can be copied: what a text says of commands is only text.
func (s Style) message(text, command string, indent int) string {
	out := s.wrap(text, indent)
	if command == "" {
		return out
	}
	return out + "\n" + strings.Repeat(" ", indent) + s.paint(bold, "$ "+Plain(command))
}

// age is a duration as people say it.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// since is how long ago a time was; "an unknown time" where an operator of another release reports none.
func (s Style) since(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return age(s.Now.Sub(t))
}

// cell is a text in a table, and its colour.
type cell struct{ text, colour string }

func plain(text string) cell { return cell{text: text} }

// table aligns rows; the first one is the heading. Colours take no space. On a narrow screen the columns named in drop
// are left out, one after the other; what is still too wide becomes a list.
func (s Style) table(rows [][]cell, drop ...int) string {
	rows = clean(rows)
	for len(drop) > 0 && s.tooWide(rows) {
		rows, drop = without(rows, drop[0]), after(drop)
	}
	if s.tooWide(rows) {
		return s.list(rows)
	}
	w := widths(rows)
	var b strings.Builder
	for n, row := range rows {
		line := strings.Builder{}
		for i, c := range row {
			colour := c.colour
			if n == 0 {
				colour = dim
			}
			line.WriteString(s.paint(colour, c.text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", w[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func clean(rows [][]cell) [][]cell {
	out := make([][]cell, len(rows))
	for i, row := range rows {
		for _, c := range row {
			out[i] = append(out[i], cell{Plain(c.text), c.colour})
		}
	}
	return out
}

// after is what is left to drop: the columns behind the dropped one have moved.
func after(drop []int) (rest []int) {
	for _, i := range drop[1:] {
		if i > drop[0] {
			i--
		}
		rest = append(rest, i)
	}
	return rest
}

func without(rows [][]cell, column int) (out [][]cell) {
	for _, row := range rows {
		if column < len(row) {
			row = append(slices.Clone(row[:column]), row[column+1:]...)
		}
		out = append(out, row)
	}
	return out
}

func widths(rows [][]cell) map[int]int {
	w := map[int]int{}
	for _, row := range rows {
		for i, c := range row {
			w[i] = max(w[i], utf8.RuneCountInString(c.text))
		}
	}
	return w
}

// tooWide reports whether rows do not fit as they are. Without a width, all do.
func (s Style) tooWide(rows [][]cell) bool {
	sum := -2
	for _, w := range widths(rows) {
		sum += w + 2
	}
	return s.Width > 0 && sum > s.Width
}

// list has a paragraph for each row of a table: its first cell, and the others below it with their headings.
func (s Style) list(rows [][]cell) string {
	var b strings.Builder
	head := rows[0]
	wide := 0
	for _, h := range head[1:] {
		wide = max(wide, utf8.RuneCountInString(h.text))
	}
	for _, row := range rows[1:] {
		b.WriteString(s.paint(bold, strings.TrimSpace(head[0].text+" "+row[0].text)) + "\n")
		for i, c := range row[1:] {
			if c.text == "" {
				continue
			}
			title := ""
			if i+1 < len(head) {
				title = head[i+1].text
			}
			line := "  " + s.paint(dim, title) + strings.Repeat(" ", max(0, wide-utf8.RuneCountInString(title)))
			if wide > 0 {
				line += "  "
			}
			b.WriteString(line + s.paint(c.colour, s.wrap(c.text, wide+4)) + "\n")
		}
	}
	return b.String()
}

// bar shows a share between 0 and 1.
func bar(share float64) string {
	const cells = 20
	full := int(max(0, min(1, share)) * cells)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
}
