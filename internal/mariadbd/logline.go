package mariadbd

import (
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/logs"
)

// form is one of the ways in which a server, or a program it starts, writes a line of its log.
type form struct {
	// line has the groups time, level, thread, subsystem and text, as far as there are such.
	line *regexp.Regexp
	// times are how it writes the time; levels which severities its words are.
	times     []string
	levels    map[string]slog.Level
	subsystem string // of a program that is none of the server's own parts
}

var (
	serverLevels = map[string]slog.Level{"Note": slog.LevelInfo, "Warning": slog.LevelWarn, "ERROR": slog.LevelError}
	scriptLevels = map[string]slog.Level{"INFO": slog.LevelInfo, "WARNING": slog.LevelWarn, "ERROR": slog.LevelError,
		"DEBUG": slog.LevelDebug}
	garbdLevels = map[string]slog.Level{"DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn,
		"ERROR": slog.LevelError, "FATAL": slog.LevelError}
	socatLevels = map[string]slog.Level{"D": slog.LevelDebug, "I": slog.LevelInfo, "N": slog.LevelInfo,
		"W": slog.LevelWarn, "E": slog.LevelError, "F": slog.LevelError}
	// stunnel has syslog's numbers.
	stunnelLevels = map[string]slog.Level{"0": slog.LevelError, "1": slog.LevelError, "2": slog.LevelError,
		"3": slog.LevelError, "4": slog.LevelWarn,
		"5": slog.LevelInfo, "6": slog.LevelInfo, "7": slog.LevelDebug}
)

// part is what a line of the server begins with when one of its parts speaks.
const part = `(?:(?P<subsystem>[A-Za-z][A-Za-z0-9_-]*|Slave I/O|Slave SQL|Event Scheduler|Semi-sync master|Semi-sync slave): )?`

var forms = []form{
	// 2026-11-22 12:15:04 0 [Warning] WSREP: text
	{line: regexp.MustCompile(
		`^(?P<time>\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d) (?P<thread>\d+) \[(?P<level>Note|Warning|ERROR)\] ` + part +
			`(?P<text>.*)$`),
		times: []string{"2006-01-02 15:04:05", "2006-01-02  3:04:05"}, levels: serverLevels},
	// 261122 12:15:04 [ERROR] /usr/sbin/mariadbd got signal 11 ;
	{line: regexp.MustCompile(`^(?P<time>\d{6} [ \d]\d:\d\d:\d\d) \[(?P<level>Note|Warning|ERROR)\] (?P<text>.*)$`),
		times: []string{"060102 15:04:05", "060102  3:04:05"}, levels: serverLevels},
	// WSREP_SST: [INFO] text (20261122 12:15:04.123)
	{line: regexp.MustCompile(
		`^(?P<subsystem>WSREP_SST|WSREP_NOTIFY): \[(?P<level>INFO|WARNING|ERROR|DEBUG)\] (?P<text>.*)$`),
		levels: scriptLevels},
	// 2026-11-22 12:15:04.123  INFO: text, of garbd
	{line: regexp.MustCompile(
		`^(?P<time>\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d\.\d{3}) +(?P<level>DEBUG|INFO|WARN|ERROR|FATAL): (?P<text>.*)$`),
		times: []string{"2006-01-02 15:04:05.000", "2006-01-02  3:04:05.000"}, levels: garbdLevels},
	// 2026/11/22 12:06:47 socat[10] N text
	{line: regexp.MustCompile(
		`^(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) (?P<subsystem>socat)\[(?P<thread>\d+)\] (?P<level>[DINWEF]) (?P<text>.*)$`),
		times: []string{"2006/01/02 15:04:05"}, levels: socatLevels},
	// 2026.11.22 15:52:31 LOG4[ui]: text, of stunnel
	{line: regexp.MustCompile(
		`^(?P<time>\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d) LOG(?P<level>[0-7])\[(?P<thread>[^\]]*)\]: (?P<text>.*)$`),
		times: []string{"2006.01.02 15:04:05"}, levels: stunnelLevels, subsystem: "stunnel"},
	// [00] 2026-11-22 12:06:47 text
	{line: regexp.MustCompile(`^\[(?P<thread>\d\d)\] (?P<time>\d{4}-\d\d-\d\d [ \d]\d:\d\d:\d\d) (?P<text>.*)$`),
		times: []string{"2006-01-02 15:04:05", "2006-01-02  3:04:05"}, subsystem: "mariadb-backup"},
}

// ParseLine takes a line of a server's log apart: of mariadbd, of garbd, or of a program either has started. Nothing of
// it is lost: a line of no known form is all text.
func ParseLine(line string) logs.Entry {
	for _, f := range forms {
		if m := f.line.FindStringSubmatch(line); m != nil {
			if e, ok := f.entry(m); ok {
				return e
			}
		}
	}
	return logs.Whole(line)
}

// entry makes an entry of a match; ok is false when its time is none.
func (f form) entry(m []string) (e logs.Entry, ok bool) {
	get := func(name string) string {
		if i := f.line.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	e = logs.Entry{Level: f.levels[get("level")], Subsystem: get("subsystem"), Thread: get("thread"), Text: get("text")}
	if e.Subsystem == "" {
		e.Subsystem = f.subsystem
	}
	if len(f.times) == 0 {
		return e, true
	}
	text := strings.TrimSpace(get("time"))
	for _, layout := range f.times {
		// The server writes the time of its container, as the agent reads it.
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			e.Time = at
			return e, true
		}
	}
	return e, false
}

// rejectedJoin is how every member logs one whose transfer does not count (gcs_group_handle_join_msg).
var rejectedJoin = regexp.MustCompile(
	`WSREP: Rejecting JOIN message from \d+\.\d+ \((.+)\): new State Transfer required`)

// RejectedJoiner returns the name, in the group, of the member that needs another state transfer, "" for any other
// line.
func RejectedJoiner(line string) string {
	if m := rejectedJoin.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// Handshake is the TLS the stream of a full transfer was seen to come or go over, as its program has printed it.
type Handshake struct {
	// Protocol is like TLSv1.3, Cipher like TLS_AES_256_GCM_SHA384. socat logs them in lines of their own.
	Protocol, Cipher string
}

// socat with -d -d logs both once it has accepted the other side's certificate, at either end (xio-openssl.c).
var (
	socatProtocol = regexp.MustCompile(`socat\[\d+\] N SSL proto version used: (\S+)$`)
	socatCipher   = regexp.MustCompile(`socat\[\d+\] N SSL connection using (\S+)$`)
)

// stunnel, which scriptEnv makes more verbose, names both of every connection it has accepted (print_cipher in
// client.c), among much else.
var (
	stunnelSuite   = regexp.MustCompile(stunnelInfo + `\[\d+\]: (?:Negotiated )?(TLSv\S+) ciphersuite:? (\S+) `)
	stunnelChatter = regexp.MustCompile(stunnelInfo + `\[`)
)

const stunnelInfo = `^\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d LOG[56]`

// Chatter reports whether a line is what stunnel logs of healthy connections, a dozen for each.
func Chatter(line string) bool { return stunnelChatter.MatchString(line) }

// ParseHandshake finds the TLS of a transfer in a line of the server's log; ok is false for any other line.
func ParseHandshake(line string) (h Handshake, ok bool) {
	if m := socatProtocol.FindStringSubmatch(line); m != nil {
		return Handshake{Protocol: m[1]}, true
	}
	if m := socatCipher.FindStringSubmatch(line); m != nil {
		return Handshake{Cipher: m[1]}, true
	}
	if m := stunnelSuite.FindStringSubmatch(line); m != nil {
		return Handshake{Protocol: m[1], Cipher: m[2]}, true
	}
	return Handshake{}, false
}
