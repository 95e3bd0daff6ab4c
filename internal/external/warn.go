package external

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Names of warnings: they keep nothing from being copied.
const (
	DefinerMissing = "DefinerMissing"
	DefinersHidden = "DefinersHidden"
	EventsEnabled  = "EventsEnabled"
	EventsDoNotRun = "EventsDoNotRun"
)

// defined is an object that acts with the privileges of an account.
type defined struct {
	Kind, Database, Name, Definer string
	// Status is an event's, "" for other objects.
	Status string
}

func (d defined) String() string { return d.Kind + " " + d.Database + "." + d.Name }

// definedIn lists the views, routines, triggers and events for which where holds, which gets the name of the column
// with the database.
func definedIn(ctx context.Context, c *sql.Conn, where func(database string) string) (out []defined, err error) {
	parts := []string{}
	for _, of := range [][4]string{{"'view'", "table", "views", "''"}, {"routine_type", "routine", "routines", "''"},
		{"'trigger'", "trigger", "triggers", "''"}, {"'event'", "event", "events", "status"}} {
		parts = append(parts, fmt.Sprintf("SELECT %s, %s_schema, %s_name, definer, %s FROM information_schema.%s WHERE %s",
			of[0], of[1], of[1], of[3], of[2], where(of[1]+"_schema")))
	}
	err = each(ctx, c, strings.Join(parts, " UNION ALL ")+" ORDER BY 2, 3, 1", func(v []string) {
		out = append(out, defined{Kind: strings.ToLower(v[0]), Database: v[1], Name: v[2], Definer: v[3], Status: v[4]})
	})
	return out, err
}

// askDefined reads what acts by itself, or for others, and which accounts there are. What cannot be read is
// reported, and keeps nothing from being copied.
func (f *Facts) askDefined(ctx context.Context, c *sql.Conn, databases []string) {
	if len(databases) == 0 {
		return
	}
	f.Defined, f.DefinedUnread = definedIn(ctx, c, func(database string) string {
		return database + " IN (" + list(databases) + ")"
	})
	if f.DefinedUnread == nil {
		f.All, f.DefinedUnread = accountsOf(ctx, c)
	}
	if f.DefinedUnread == nil {
		f.DefinedUnread = c.QueryRowContext(ctx, "SELECT @@GLOBAL.event_scheduler = 'ON'").Scan(&f.Scheduler)
	}
}

// Warn returns what is copied, and then does not work as on the source. It is pure.
func Warn(f Facts) (out []task.Finding) {
	if f.Only {
		return nil // of tables alone
	}
	out = warnComputed(f.Inventory)
	if f.DefinedUnread != nil {
		return append(out, task.Finding{Name: DefinersHidden, Message: fmt.Sprintf("the definers of views, routines, "+
			"triggers and events could not be listed (%s): look for those without an account yourself", f.DefinedUnread)})
	}
	if missing := missingDefiners(f); len(missing) > 0 {
		out = append(out, task.Finding{Name: DefinerMissing, Objects: missing[:min(len(missing), shownObjects)],
			Count: len(missing), Message: "the new cluster has no such account. What it is the DEFINER of fails when it is " +
				"used (error 1449), as does each write to a table with its trigger, and its events do not run: " +
				"create the account there, with a GaleraUser of that host, before applications use the cluster; or, if the " +
				"source lacks it, too, give the objects another DEFINER"})
	}
	var run, still []string
	for _, d := range f.Defined {
		switch d.Status {
		case "ENABLED":
			run = append(run, d.Database+"."+d.Name)
		case "SLAVESIDE_DISABLED":
			still = append(still, d.Database+"."+d.Name)
		}
	}
	if len(run) > 0 {
		out = append(out, task.Finding{Name: EventsEnabled, Objects: run[:min(len(run), shownObjects)], Count: len(run),
			Message: eventsEnabled(f)})
	}
	if len(still) > 0 {
		out = append(out, task.Finding{Name: EventsDoNotRun, Objects: still[:min(len(still), shownObjects)],
			Count: len(still), Message: "these events are disabled on replicas (DISABLE ON SLAVE), and are so in the new " +
				"cluster: ALTER EVENT … ENABLE there for those that are to run, with spec.mariadb.events: FollowPrimary"})
	}
	return out
}

// eventsEnabled describes where enabled events run, and from when.
func eventsEnabled(f Facts) string {
	text := "the new cluster runs these events only with spec.mariadb.events: FollowPrimary, on its primary"
	if f.Follow {
		text += ", and not before it accepts writes (kubectl galera cutover)"
	}
	if !f.Scheduler {
		return text + ". The source runs none now: its event_scheduler is OFF"
	}
	return text + ". The source goes on running them: ALTER EVENT … DISABLE there before the cluster does"
}

// missingDefiners are the definers without an account in the new cluster, with what is theirs.
func missingDefiners(f Facts) (out []string) {
	exist := map[string]bool{"root@localhost": true, "root@%": true, "mysql@localhost": true,
		"mariadb.sys@localhost": true}
	there := map[string]bool{}
	for _, a := range f.Accounts {
		exist[a.definer()] = true
	}
	for _, a := range f.All {
		there[a.definer()] = true
	}
	of := map[string][]defined{}
	for _, d := range f.Defined {
		if !exist[d.Definer] {
			of[d.Definer] = append(of[d.Definer], d)
		}
	}
	for _, definer := range slices.Sorted(maps.Keys(of)) {
		text := cmp.Or(definer, "(none)")
		if !there[definer] {
			text += ", which the source lacks, too"
		}
		text += " (" + of[definer][0].String()
		if more := len(of[definer]) - 1; more > 0 {
			text += " and " + galera.Count(more, "other object")
		}
		out = append(out, text+")")
	}
	return out
}

// definer is how an object names the account.
func (a account) definer() string {
	if a.Role {
		return a.Name
	}
	return a.Name + "@" + a.Host
}

// errUnknownCollation is ER_UNKNOWN_COLLATION.
const errUnknownCollation = 1273

// checkCollations refuses what the target has no collation for, by name, before anything is created.
func (c *copier) checkCollations(ctx context.Context) error {
	users := map[string]string{}
	for _, t := range c.inventory.Tables {
		for _, column := range t.Columns {
			if _, known := users[column.Collation]; !known && column.Collation != "" {
				users[column.Collation] = t.String() + "." + column.Name
			}
		}
	}
	for _, objects := range [][]Object{c.inventory.Views, c.inventory.Routines, c.inventory.Triggers, c.inventory.Events} {
		for _, o := range objects {
			if _, known := users[o.Collation]; !known && o.Collation != "" {
				users[o.Collation] = o.String()
			}
		}
	}
	conn, err := c.target.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var unknown []string
	for _, collation := range slices.Sorted(maps.Keys(users)) {
		_, err := conn.ExecContext(ctx, "SET SESSION collation_connection = "+text(collation))
		switch {
		case code(err) == errUnknownCollation:
			unknown = append(unknown, collation+" ("+users[collation]+")")
		case err != nil:
			return fmt.Errorf("asking for the collation %s: %w", collation, err)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it has no such collation: %s. Set spec.image to a version that has it, or change it on the "+
		"source: ALTER TABLE … CONVERT TO CHARACTER SET; a view or a routine has to be created again", ErrRefused,
		strings.Join(unknown, ", "))
}
