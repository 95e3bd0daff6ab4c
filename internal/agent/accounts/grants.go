package accounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	all         = "*"
	everything  = "ALL PRIVILEGES"
	grantOption = "GRANT OPTION"
	usage       = "USAGE"
)

// scope is what a privilege is on. In a grant on a whole database its name is a pattern, as the server keeps it.
type scope struct {
	routine         string // PROCEDURE, FUNCTION or PACKAGE; "" for tables
	database, table string
}

func (s scope) String() string {
	database, table := all, all
	if s.database != all {
		database = ident(s.database)
	}
	if s.table != all {
		table = ident(s.table)
	}
	return strings.TrimSpace(s.routine + " " + database + "." + table)
}

// right is one privilege, on one column or on all there is.
type right struct {
	scope
	privilege, column string
}

type rights map[right]bool

// synonyms are names of privileges that the server takes and shows by another name.
var synonyms = map[string]string{
	"ALL":                       everything,
	"REPLICATION CLIENT":        "BINLOG MONITOR",
	"DELETE VERSIONING ROWS":    "DELETE HISTORY",
	"REPLICA MONITOR":           "SLAVE MONITOR",
	"REPLICATION REPLICA":       "REPLICATION SLAVE",
	"REPLICATION REPLICA ADMIN": "REPLICATION SLAVE ADMIN",
}

func canonical(privilege string) string {
	p := strings.ToUpper(strings.ReplaceAll(privilege, "_", " "))
	if s, ok := synonyms[p]; ok {
		return s
	}
	return p
}

// wanted are the desired rights.
func wanted(grants []agentapi.SQLGrant) rights {
	out := rights{}
	for _, g := range grants {
		on := scope{database: g.Database, table: g.Table}
		if g.Table == all {
			on.database = pattern(g.Database)
		}
		for _, p := range g.Privileges {
			if p = canonical(p); p == usage {
				continue
			}
			columns := g.Columns
			if len(columns) == 0 {
				columns = []string{""}
			}
			for _, c := range columns {
				out[right{on, p, c}] = true
			}
		}
		if g.WithGrant {
			out[right{on, grantOption, ""}] = true
		}
	}
	return out
}

// shownGrants is what SHOW GRANTS shows for an account.
type shownGrants struct {
	rights rights
	roles  []string
}

// parseGrants reads the lines of SHOW GRANTS. What it does not know, such as PROXY, it leaves alone.
func parseGrants(lines []string) (shownGrants, error) {
	out := shownGrants{rights: rights{}}
	for _, line := range lines {
		p := &parser{tokens: tokens(line)}
		if !p.take("GRANT") || p.at("PROXY") {
			continue
		}
		if t := p.peek(); t.quoted && p.peekAt(1).is("TO") {
			out.roles = append(out.roles, t.text)
			continue
		}
		if err := p.grant(out.rights); err != nil {
			return out, fmt.Errorf("%w: %s", err, line)
		}
	}
	slices.Sort(out.roles)
	return out, nil
}

type parser struct{ tokens []token }

func (p *parser) peek() token { return p.peekAt(0) }

func (p *parser) peekAt(i int) token {
	if i < len(p.tokens) {
		return p.tokens[i]
	}
	return token{}
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) at(word string) bool { return p.peek().is(word) }

func (p *parser) take(word string) bool {
	if !p.at(word) {
		return false
	}
	p.next()
	return true
}

// grant reads a list of privileges, what they are on, and whether they may be given away.
func (p *parser) grant(into rights) error {
	type element struct {
		privilege string
		columns   []string
	}
	var elements []element
	for {
		var words, columns []string
		for !p.at(",") && !p.at("ON") && !p.at("(") && len(p.tokens) > 0 {
			words = append(words, p.next().text)
		}
		if p.take("(") {
			for !p.take(")") && len(p.tokens) > 0 {
				if t := p.next(); t.quoted {
					columns = append(columns, t.text)
				}
			}
		}
		elements = append(elements, element{canonical(strings.Join(words, " ")), columns})
		if !p.take(",") {
			break
		}
	}
	on, err := p.scope()
	if err != nil {
		return err
	}
	for _, e := range elements {
		if e.privilege == usage {
			continue
		}
		if len(e.columns) == 0 {
			e.columns = []string{""}
		}
		for _, c := range e.columns {
			into[right{on, e.privilege, c}] = true
		}
	}
	for ; len(p.tokens) > 0; p.next() {
		if p.at("GRANT") && p.peekAt(1).is("OPTION") {
			into[right{on, grantOption, ""}] = true
		}
	}
	return nil
}

func (p *parser) scope() (s scope, err error) {
	if !p.take("ON") {
		return s, fmt.Errorf("not understood")
	}
	for _, kind := range []string{"PROCEDURE", "FUNCTION", "PACKAGE BODY", "PACKAGE"} {
		words := strings.Fields(kind)
		if p.at(words[0]) && (len(words) == 1 || p.peekAt(1).is(words[1])) {
			p.tokens, s.routine = p.tokens[len(words):], kind
			break
		}
	}
	s.database = p.next().text
	if !p.take(".") {
		return s, fmt.Errorf("not understood")
	}
	s.table = p.next().text
	return s, nil
}

// token is a word, a quoted name, or one character.
type token struct {
	text   string
	quoted bool
}

func (t token) is(word string) bool { return !t.quoted && t.text == word }

func tokens(line string) (out []token) {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ':
			i++
		case c == '`' || c == '\'':
			var b strings.Builder
			for i++; i < len(line); i++ {
				if line[i] == c && (i+1 == len(line) || line[i+1] != c) {
					break
				}
				if line[i] == c {
					i++
				}
				b.WriteByte(line[i])
			}
			out = append(out, token{b.String(), true})
			i++
		case strings.IndexByte(",().@*", c) >= 0:
			out = append(out, token{string(c), false})
			i++
		default:
			end := i
			for end < len(line) && strings.IndexByte(" ,().@*`'", line[end]) < 0 {
				end++
			}
			out = append(out, token{line[i:end], false})
			i = end
		}
	}
	return out
}
