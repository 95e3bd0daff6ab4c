package serving

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Commands of the protocol.
const (
	comQuit     = 1
	comQuery    = 3
	comPing     = 14
	comDump     = 18
	comRegister = 21
)

const (
	// askTime is how long a replica may take to send its next command.
	askTime = time.Minute
	// usualBeat is how often an idle connection shows that it is alive, unless the replica asks for another time.
	usualBeat = 10 * time.Second
	// fatal is the number of the error that ends a replica's channel; after any other one it connects again.
	fatal, passing = 1236, 1105
)

// session is a replica that has logged in.
type session struct {
	*packets
	archive *archived
	streams *streams    // nil for the archive alone
	last    binlog.GTID // the archive's last transaction: its domain and its server
	poll    time.Duration

	state, until string
	beat         time.Duration
}

// run answers a replica until it goes.
func (s *session) run(ctx context.Context) error {
	s.beat = usualBeat
	for {
		command, err := s.read(askTime)
		switch {
		case err != nil:
			return err
		case len(command) == 0 || command[0] == comQuit:
			return nil
		}
		switch command[0] {
		case comQuery:
			err = s.query(string(command[1:]))
		case comPing, comRegister:
			err = s.ok()
		case comDump:
			return s.dump(ctx)
		default:
			err = s.refuse(1047, "08S01", "An archive knows no such command")
		}
		if err != nil {
			return err
		}
	}
}

// setting is what a replica sets before it asks for the binary log.
var setting = regexp.MustCompile(`(?i)^SET\s+@([a-z_]+)\s*=\s*(.*)$`)

// query answers the few statements that replicas send.
func (s *session) query(text string) error {
	text = strings.TrimSpace(text)
	if m := setting.FindStringSubmatch(text); m != nil {
		s.set(strings.ToLower(m[1]), strings.Trim(m[2], "' "))
		return s.ok()
	}
	switch upper := strings.ToUpper(text); {
	case upper == "SELECT UNIX_TIMESTAMP()":
		return s.row([]string{"UNIX_TIMESTAMP()"}, []string{strconv.FormatInt(time.Now().Unix(), 10)})
	case strings.HasPrefix(upper, "SHOW VARIABLES LIKE 'SERVER_ID'"):
		return s.row([]string{"Variable_name", "Value"}, []string{"server_id",
			strconv.Itoa(int(s.streams.number(s.last.Server)))})
	case upper == "SELECT @MASTER_BINLOG_CHECKSUM":
		return s.row([]string{"@master_binlog_checksum"}, []string{"NONE"})
	case upper == "SELECT @@GLOBAL.GTID_DOMAIN_ID":
		return s.row([]string{"@@GLOBAL.gtid_domain_id"}, []string{strconv.Itoa(int(s.last.Domain))})
	case strings.HasPrefix(upper, "SET NAMES"):
		return s.ok()
	}
	say("a replica has sent a statement that an archive does not answer: %q", text)
	return s.refuse(1235, "42000", "An archive does not answer this statement")
}

func (s *session) set(name, value string) {
	switch name {
	case "slave_connect_state":
		s.state = value
	case "slave_until_gtid":
		s.until = value
	case "master_heartbeat_period":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
			s.beat = max(time.Duration(n), time.Millisecond)
		}
	}
}

// dump sends the archive. What keeps it from being followed reaches the replica as its channel's error.
func (s *session) dump(ctx context.Context) error {
	err := s.follow(ctx)
	var over errStream
	if ctx.Err() != nil || errors.As(err, &over) {
		return err // it connects again without an error
	}
	number, text := failure(err)
	return errors.Join(err, s.refuse(number, "HY000", text))
}

// Refused begins the message of a channel whose cluster has to be seeded anew.
const Refused = task.Refused

// failure is how a replica is answered: its channel ends only when it could never go on.
func failure(err error) (number uint16, text string) {
	var final Refusal
	if errors.As(err, &final) {
		return fatal, Refused + err.Error()
	}
	var anew errAnew
	if errors.As(err, &anew) {
		return fatal, err.Error()
	}
	return passing, err.Error()
}

func (s *session) follow(ctx context.Context) error {
	from, err := position(s.state, s.last.Domain)
	if err != nil {
		return err
	}
	f := &follower{sender: &sender{packets: s.packets, server: s.last.Server}, archive: s.archive, streams: s.streams,
		from: from,
		beat: s.beat, poll: s.poll, sent: time.Now()}
	if s.until != "" {
		if f.until, err = position(s.until, s.last.Domain); err != nil {
			return fmt.Errorf("the end: %w", err)
		}
	}
	say("a replica follows from %s", from)
	return f.run(ctx)
}
