package mycnf

import (
	"strings"
	"testing"
)

// FuzzOptionFile: whatever name and value a user may set, MariaDB reads them as that one setting with that value, and
// as nothing else.
func FuzzOptionFile(f *testing.F) {
	for _, s := range [][2]string{
		{"max_connections", "100"}, {"init_connect", `SET NAMES "x" # 'y'`}, {"sql_mode", ""}, {"init-connect", `\`},
		{"loose-x", "\t a"},
		{"init_connect", "d\u00e9j\u00e0"}, {"ft_stopword_file", `"a"`}, {"a.b", "[mysqld]"}, {"skip-name-resolve", "1"},
		{"x", ";"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if Refused(key, value) != "" {
			return
		}
		text := File{{Name: "mysqld", Options: []Option{Set(key, value), Set("port", "3306")}}}.Render()
		got := parse(text)
		want := []string{"mysqld", key, strings.Trim(value, " \t"), "mysqld", "port", "3306"}
		if len(got) == 6 && strings.Trim(got[2], " \t") == want[2] {
			got[2] = want[2] // spaces at the ends mean nothing
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q = %q is written as %q and read as %q", key, value, text, got)
		}
	})
}

// parse reads an option file as MariaDB's mysys/my_default.c does: group, name and value of each line.
func parse(text string) (out []string) {
	group := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeftFunc(line, func(r rune) bool { return r < 0x80 && space(byte(r)) })
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			group = line[1:strings.IndexByte(line, ']')]
			continue
		}
		key, value, _ := strings.Cut(uncommented(line), "=")
		value = trim(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[0] == value[n-1] {
			value = value[1 : n-1]
		}
		out = append(out, group, trim(key), unescaped(value))
	}
	return out
}

// space is my_isspace of latin1, in which the server reads option files.
func space(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' || b == 0xa0 }

func trim(s string) string {
	for s != "" && space(s[0]) {
		s = s[1:]
	}
	for s != "" && space(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// uncommented ends a line where a comment begins.
func uncommented(line string) string {
	quote, escape := byte(0), false
	for i := range len(line) {
		switch c := line[i]; {
		case (c == '\'' || c == '"') && !escape:
			switch quote {
			case 0:
				quote = c
			case c:
				quote = 0
			}
		case quote == 0 && c == '#':
			return line[:i]
		}
		escape = quote != 0 && line[i] == '\\' && !escape
	}
	return line
}

func unescaped(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 == len(value) {
			b.WriteByte(value[i])
			continue
		}
		i++
		if to, known := map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 's': ' ', '"': '"', '\'': '\'',
			'\\': '\\'}[value[i]]; known {
			b.WriteByte(to)
		} else {
			b.WriteString(value[i-1 : i+1])
		}
	}
	return b.String()
}
