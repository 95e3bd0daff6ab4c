package external

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// errImplausible is an answer that no MariaDB server gives. What a source answers becomes statements on the new server,
// which run with all privileges: each must be of the kind that was asked for, and a number must be one.
var errImplausible = errors.New("it does not answer as a MariaDB server does")

const (
	quotedName = "(?:`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")"
	definerIs  = "DEFINER=" + quotedName + "(?:@" + quotedName + ")? "
	// bareName is that of a trigger's definer, where the session that made it had sql_quote_show_create=0.
	bareName = `[\w$\x{80}-\x{ffff}]+`
	makerIs  = "DEFINER=(?:" + quotedName + "|" + bareName + ")(?:@(?:" + quotedName + "|" + bareName + "))? "
)

// beginnings are how the statements begin that SHOW CREATE returns, by the kind of the object. That of a trigger is as
// a person has written it, but for the definer.
var beginnings = map[string]*regexp.Regexp{
	"VIEW": regexp.MustCompile("^CREATE (?:ALGORITHM=[A-Z]+ )?(?:" + definerIs + ")?(?:SQL SECURITY [A-Z]+ )?VIEW " +
		quotedName),
	"FUNCTION":     regexp.MustCompile("^CREATE " + definerIs + "(?:AGGREGATE )?FUNCTION " + quotedName),
	"PROCEDURE":    regexp.MustCompile("^CREATE " + definerIs + "PROCEDURE " + quotedName),
	"PACKAGE":      regexp.MustCompile("^CREATE " + definerIs + "PACKAGE " + quotedName),
	"PACKAGE BODY": regexp.MustCompile("^CREATE " + definerIs + "PACKAGE BODY " + quotedName),
	"TRIGGER":      regexp.MustCompile("(?is)^CREATE (?:OR REPLACE )?(?:" + makerIs + ")?TRIGGER[\\s`\"/]"),
	"EVENT":        regexp.MustCompile("^CREATE (?:" + definerIs + ")?EVENT " + quotedName),
}

// Settings that belong to a definition.
var (
	modes      = regexp.MustCompile(`^[A-Za-z0-9_,]*$`)
	collations = regexp.MustCompile(`^[A-Za-z0-9_]*$`)
	zones      = regexp.MustCompile(`^[A-Za-z0-9_+:/-]*$`)
)

// plausible returns why the definition of an object cannot be one.
func plausible(kind string, o Object) error {
	var good bool
	switch kind {
	case "DATABASE":
		rest, named := strings.CutPrefix(o.Create, "CREATE DATABASE "+ident(o.Database))
		good = named && (rest == "" || strings.HasPrefix(rest, " /*!"))
	case "TABLE":
		good = strings.HasPrefix(o.Create, "CREATE TABLE "+ident(o.Name)+" (")
	default:
		b := beginnings[kind]
		good = b != nil && b.MatchString(o.Create)
	}
	if !good {
		return fmt.Errorf("%w: the definition of %s is none of a %s", errImplausible, o, strings.ToLower(kind))
	}
	if !modes.MatchString(o.SQLMode) || !collations.MatchString(o.Collation) || !zones.MatchString(o.TimeZone) {
		return fmt.Errorf("%w: the settings of %s", errImplausible, o)
	}
	return nil
}

// foreign reports whether an object is in none of the databases that were asked for. Where names have no case they may
// be written in another one.
func foreign(databases []string) func(database string) bool {
	asked := map[string]bool{}
	for _, d := range databases {
		asked[strings.ToLower(d)] = true
	}
	return func(database string) bool { return !asked[strings.ToLower(database)] }
}

// isNumber reports whether a value can be written as a literal without quotes.
func isNumber(v []byte) bool {
	return len(v) > 0 && len(bytes.Trim(v, "0123456789+-.eE")) == 0
}

const throwAway = "galera-operator-throw-away"

// encryptForNobody has the driver encrypt passwords, where a server asks for that, by a key that is thrown away. By
// itself it takes the key that the server sends, so that one without a certificate would get the password.
var encryptForNobody = sync.OnceValue(func() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	mysql.RegisterServerPubKey(throwAway, &key.PublicKey)
	return nil
})
