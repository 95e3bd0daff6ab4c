package tables

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/external"
)

const (
	// state is the table with the stages of rounds, alongside what is loaded.
	state = "state"
	// compared is the stage of a round whose tables are as the source has them: they only lack their names. One that is
	// abandoned never gets there.
	compared  = "compared"
	abandoned = "abandoned"

	duplicate     = 1062
	tableExists   = 1050
	unknownSchema = 1049
)

// Target is a living cluster, and the database in it that tables are loaded into.
type Target struct {
	DB       *sql.DB
	Database string
}

// note is what is kept of a round that was compared: all that is needed to give its tables their names.
type note struct {
	Loaded
	Names []string `json:"names"`
}

// Begin creates the table with the stages, and finishes what an earlier attempt has compared. done is what that one has
// loaded, nil if none has.
func (t Target) Begin(ctx context.Context, s Selection) (done *Loaded, err error) {
	_, err = t.DB.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+in(t.Database, state)+" (round VARCHAR(32) CHARACTER "+
		"SET ascii COLLATE ascii_bin PRIMARY KEY, stage VARCHAR(16) NOT NULL, note LONGTEXT NOT NULL) ENGINE=InnoDB")
	if err != nil {
		return nil, fmt.Errorf("creating the table of stages: %w", err)
	}
	var round, text string
	err = external.Each(ctx, t.DB, "SELECT round, note FROM "+in(t.Database, state)+
		" WHERE stage = '"+compared+"' ORDER BY round", nil, func(v []string) error {
		round, text = v[0], v[1]
		return nil
	})
	if err != nil || round == "" {
		return nil, err
	}
	var n note
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return nil, fmt.Errorf("the note of the round %s: %w", round, err)
	}
	return &n.Loaded, t.publish(ctx, s, round, n.Names)
}

// Free returns ErrExists or ErrNoDatabase unless the names can be given.
func (t Target) Free(ctx context.Context, s Selection, names []string) error {
	have := map[string]bool{}
	err := external.Each(ctx, t.DB, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?",
		[]any{s.Into}, func(v []string) error {
			have[v[0]] = true
			return nil
		})
	if err != nil {
		return err
	}
	if len(have) == 0 {
		var n int
		err := t.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
			s.Into).Scan(&n)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: the cluster has no database %s", ErrNoDatabase, s.Into)
		}
		return err
	}
	if s.Table == "" {
		return fmt.Errorf("%w: the database %s of the cluster is not empty", ErrExists, s.Into)
	}
	for _, name := range names {
		if have[name] {
			return fmt.Errorf("%w: the cluster has a table or view %s.%s", ErrExists, s.Into, name)
		}
	}
	return nil
}

// Load copies the tables of a round, and compares them with the source. It removes what rounds before have left. o has
// the memory for it.
func (t Target) Load(ctx context.Context, source *sql.DB, taken Taken, o external.Options) (Loaded, error) {
	if err := t.abandon(ctx, taken.round); err != nil {
		return Loaded{}, fmt.Errorf("removing what an earlier attempt has left: %w", err)
	}
	o.Databases, o.Present, o.Connections = []string{t.Database}, true, 1
	r, err := external.Copy(ctx, source, t.DB, o)
	if err != nil {
		return Loaded{}, taken.named(t.Database, err)
	}
	out := Loaded{Tables: r.Tables, Rows: r.Rows, LeftOut: taken.LeftOut}
	if out.Tables != len(taken.Names) {
		return out, fmt.Errorf("%w: %d of %d tables were copied", external.ErrDiffers, out.Tables, len(taken.Names))
	}
	return out, nil
}

// Copy copies tables of a source that is in use into those of a round, and compares them with the source. It removes
// what rounds before have left. o has how the source is read.
func (t Target) Copy(ctx context.Context, source *sql.DB, s Selection, round string, o external.Options) (Taken,
	external.Report, error) {
	if err := t.abandon(ctx, round); err != nil {
		return Taken{}, external.Report{}, fmt.Errorf("removing what an earlier attempt has left: %w", err)
	}
	leftOut, err := belongings(ctx, source, s)
	if err != nil {
		return Taken{}, external.Report{}, external.SourceError{Err: err}
	}
	o.Databases, o.Only = []string{s.Database}, &external.Only{Table: s.Table, As: func(i int) external.Object {
		return external.Object{Database: t.Database, Name: table(round, i)}
	}}
	r, err := external.Copy(ctx, source, t.DB, o)
	if err == nil && len(r.Names) == 0 {
		err = fmt.Errorf("%w: %s", ErrNotFound, s)
	}
	return Taken{Names: r.Names, LeftOut: append(leftOut, r.LeftOut...), Bytes: r.Bytes, round: round}, r, err
}

// Publish gives the tables of a round that was compared their names.
func (t Target) Publish(ctx context.Context, s Selection, taken Taken, l Loaded) error {
	text, err := json.Marshal(note{Loaded: l, Names: final(s, taken.Names)})
	if err != nil {
		return err
	}
	_, err = t.DB.ExecContext(ctx, "INSERT INTO "+in(t.Database, state)+" VALUES (?, '"+compared+"', ?)", taken.round,
		string(text))
	if code(err) == duplicate {
		return errGivenUp
	}
	if err != nil {
		return fmt.Errorf("recording that the tables were compared: %w", err)
	}
	return t.publish(ctx, s, taken.round, final(s, taken.Names))
}

// final are the names that tables get.
func final(s Selection, names []string) []string {
	if s.Table != "" {
		return []string{s.As}
	}
	return names
}

// publish renames the tables of a round that have not got their names yet: all at once, unless a server has crashed in
// the middle.
func (t Target) publish(ctx context.Context, s Selection, round string, names []string) error {
	have, err := t.loaded(ctx)
	if err != nil {
		return err
	}
	var pairs []string
	for i, name := range names {
		if temporary := table(round, i); have[temporary] {
			pairs = append(pairs, in(t.Database, temporary)+" TO "+in(s.Into, name))
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	c, err := t.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	// with it, foreign keys follow the tables that they refer to
	err = run(ctx, c, "SET SESSION foreign_key_checks = 1", "RENAME TABLE "+strings.Join(pairs, ", "))
	switch code(err) {
	case tableExists:
		return fmt.Errorf("%w: meanwhile the cluster has got a table of that name: %w", ErrExists, err)
	case unknownSchema:
		return fmt.Errorf("%w: %w", ErrNoDatabase, err)
	}
	return err
}

// loaded lists the tables that have no final name.
func (t Target) loaded(ctx context.Context) (map[string]bool, error) {
	have := map[string]bool{}
	err := external.Each(ctx, t.DB, "SELECT table_name FROM information_schema.tables WHERE table_schema = ? AND "+
		"table_name <> '"+state+"'", []any{t.Database}, func(v []string) error {
		have[v[0]] = true
		return nil
	})
	return have, err
}

// abandon drops the tables of all rounds but one. Each is marked before: a load that still goes on cannot record any
// more that its tables were compared.
func (t Target) abandon(ctx context.Context, but string) error {
	have, err := t.loaded(ctx)
	if err != nil {
		return err
	}
	c, err := t.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := run(ctx, c, "SET SESSION foreign_key_checks = 0"); err != nil {
		return err
	}
	for name := range have {
		round := name[:strings.LastIndex(name, "_")+1]
		if round = strings.TrimSuffix(round, "_"); round == but {
			continue
		}
		if _, err := c.ExecContext(ctx, "INSERT IGNORE INTO "+in(t.Database, state)+" VALUES (?, '"+abandoned+"', '')",
			round); err != nil {
			return err
		}
		var stage string
		if err := c.QueryRowContext(ctx, "SELECT stage FROM "+in(t.Database, state)+" WHERE round = ?",
			round).Scan(&stage); err != nil {
			return err
		}
		if stage != abandoned {
			return errGivenUp // it was compared, and the next attempt finds it
		}
		if _, err := c.ExecContext(ctx, "DROP TABLE IF EXISTS "+in(t.Database, name)); err != nil {
			return err
		}
	}
	return nil
}
