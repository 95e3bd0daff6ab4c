package mariadbd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// zoneinfo is where an image has its time zones.
	zoneinfo = "/usr/share/zoneinfo"
	// zonesInterval is the pause between two checks of a server: its image does not change. zonesFirstRetry is the pause
	// after an attempt that failed, which doubles up to zonesInterval, and zonesTimeout bounds one.
	zonesInterval   = time.Hour
	zonesFirstRetry = time.Minute
	zonesTimeout    = 10 * time.Minute
	// zonesMark begins the comment of mysql.time_zone_name, which names the version of the zones in the tables. It goes
	// along with the tables, into copies and backups.
	zonesMark = "time zones of "
	// zonesDatabase begins the names of the databases in which the tables are filled, each of one attempt.
	zonesDatabase = "galera_operator_zones_"
)

// zoneTables are the tables of named time zones.
var zoneTables = []string{"time_zone", "time_zone_leap_second", "time_zone_name", "time_zone_transition",
	"time_zone_transition_type"}

// ReadZones returns a server's comment of mysql.time_zone_name, and its databases whose names begin with a prefix.
type ReadZones func(ctx context.Context, prefix string) (comment string, databases []string, err error)

// Zones fills the tables of named time zones again when the image has later zones. The statements are replicated, so
// that one member does it for all. Not safe for concurrent use; event loop only.
type Zones struct {
	loop   eventloop.Loop
	places platform.Places
	table  *platform.ProcessTable
	user   string
	read   ReadZones

	busy bool
	next time.Time
	// failed counts the attempts that have failed in a row, failure is why the last one did.
	failed  int
	failure string
}

// NewZones returns a Zones that has not checked anything. user is the account on the socket that needs no password.
func NewZones(loop eventloop.Loop, places platform.Places, table *platform.ProcessTable, user string,
	read ReadZones) Zones {
	return Zones{loop: loop, places: places, table: table, user: user, read: read}
}

// Began is called for a new server, whose tables are not known.
func (z *Zones) Began() { z.next, z.failed, z.failure = time.Time{}, 0, "" }

// Yield is called while another member fills the tables, or none does.
func (z *Zones) Yield() {
	if z.failed > 0 {
		z.Began()
	}
}

// Failure is why the last attempt failed, "" when it did not.
func (z *Zones) Failure() string { return z.failure }

// Check fills the tables where the image has later zones.
func (z *Zones) Check(now time.Time) {
	if z.busy || now.Before(z.next) {
		return
	}
	z.busy, z.next = true, now.Add(zonesInterval)
	ctx, cancel := z.loop.Work(zonesTimeout)
	go func() {
		defer cancel()
		filled, err := z.refill(ctx)
		z.loop.Post(func() { z.onEnded(filled, err) })
	}()
}

func (z *Zones) onEnded(filled string, err error) {
	z.busy = false
	if err != nil {
		z.next = time.Now().Add(min(zonesFirstRetry<<min(z.failed, 10), zonesInterval))
		z.failed, z.failure = z.failed+1, err.Error()
		z.loop.Logger.Warn("the tables of time zones could not be filled again", "error", err)
		return
	}
	z.failed, z.failure = 0, ""
	if filled != "" {
		z.loop.Logger.Info("the tables of time zones were filled again", "zones", filled)
	}
}

// Busy returns what is in progress while the tables are checked or filled, "" otherwise.
func (z *Zones) Busy() string {
	if z.busy {
		return "the tables of time zones are being checked"
	}
	return ""
}

// refill returns the version of the zones that it has filled the tables with, "" when it left them as they are.
func (z *Zones) refill(ctx context.Context) (string, error) {
	comment, leftovers, err := z.read(ctx, zonesDatabase)
	if err != nil {
		return "", err
	}
	own := zonesOf(zoneinfo)
	tool, client := First("mariadb-tzinfo-to-sql", "mysql_tzinfo_to_sql"), First("mariadb", "mysql")
	later := zonesLater(own, comment)
	if later && tool == "" {
		if strings.HasPrefix(comment, zonesMark) {
			return "", errors.New("the image has no mariadb-tzinfo-to-sql")
		}
		later = false // there were no named zones before either
	}
	if !later && len(leftovers) == 0 {
		return "", nil
	}
	if client == "" {
		return "", errors.New("the image has no client mariadb")
	}
	path := filepath.Join(z.places.Tmp, "zones-next.sql")
	defer func() { _ = os.Remove(path) }()
	before, after := dropZones(leftovers), ""
	if later {
		fill, swap := zoneStatements(fmt.Sprintf("%s%d", zonesDatabase, time.Now().UnixNano()), own)
		before, after = before+fill, swap
	} else {
		own, tool = "", ""
	}
	if err := writeZones(ctx, z.table, z.places, tool, path, before, after); err != nil {
		return "", err
	}
	return own, z.carryOut(ctx, client, path)
}

// carryOut gives the statements in a file to the server.
func (z *Zones) carryOut(ctx context.Context, client, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return runClient(ctx, z.table, z.places, z.user, Command{Path: client, Stdin: bufio.NewReader(in)})
}

// dropZones drops what attempts have left that were cut off.
func dropZones(leftovers []string) string {
	var b strings.Builder
	for _, db := range leftovers {
		fmt.Fprintf(&b, "DROP DATABASE IF EXISTS `%s`;\n", strings.ReplaceAll(db, "`", "``"))
	}
	return b.String()
}

// zoneStatements go around those that fill the tables. The tables are filled in a database of their own, and replace
// the old ones in one statement: no query finds a zone missing, and an attempt that is cut off has changed nothing.
func zoneStatements(db, zones string) (before, after string) {
	var b, swap strings.Builder
	fmt.Fprintf(&b, "SET SESSION sql_mode = '', max_statement_time = 0, wsrep_OSU_method = 'TOI';\n"+
		"CREATE DATABASE %s;\nUSE %s;\n", db, db)
	for i, name := range zoneTables {
		fmt.Fprintf(&b, "CREATE TABLE %s LIKE mysql.%s;\n", name, name)
		if i > 0 {
			swap.WriteString(", ")
		}
		fmt.Fprintf(&swap, "mysql.%s TO %s.old_%s, %s.%s TO mysql.%s", name, db, name, db, name, name)
	}
	return b.String(), fmt.Sprintf("%sRENAME TABLE %s;\nDROP DATABASE %s;\n", markZones(zones), swap.String(), db)
}

// markZones notes in the tables of the current database which zones they hold.
func markZones(zones string) string {
	if zones == "" {
		return ""
	}
	return fmt.Sprintf("ALTER TABLE time_zone_name COMMENT = '%s%s';\n", zonesMark, zones)
}

// errTool is that a tool of the image has failed.
var errTool = errors.New("a tool of the image failed")

// writeZones writes the statements of a tool into a file, between others. Without a tool there are only the others.
func writeZones(ctx context.Context, table *platform.ProcessTable, places platform.Places,
	tool, path, before, after string) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if _, err := out.WriteString(before); err != nil {
		return err
	}
	if tool == "" {
		return nil
	}
	exit, err := Run(ctx, table, Command{Path: tool, Args: []string{zoneinfo}, Env: Env(places), Dir: places.Tmp,
		Stdout: out})
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(tool), err)
	}
	if exit.Code != 0 {
		return fmt.Errorf("%w: %s: %s", errTool, filepath.Base(tool), exit)
	}
	_, err = out.WriteString(after)
	return err
}

var zonesVersion = regexp.MustCompile(`^# version (20[0-9]{2}[a-z]{1,3})\b`)

// zonesOf returns the version of the zones in a directory, as 2026a, "" when it names none.
func zonesOf(dir string) string {
	f, err := os.Open(filepath.Join(dir, "tzdata.zi"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	if found := zonesVersion.FindSubmatch(head[:n]); found != nil {
		return string(found[1])
	}
	return ""
}

// zonesLater reports whether the image's zones are to replace those of the tables, also where it is not known which
// these are. An image with earlier zones, as of a node that is upgraded last, changes nothing.
func zonesLater(image, comment string) bool {
	tables, marked := strings.CutPrefix(comment, zonesMark)
	return image != "" && (!marked || image > tables)
}
