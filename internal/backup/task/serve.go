package task

import "time"

const (
	// ServePort is where an archive is served to replicas.
	ServePort = 3306
	// ServedPort is where the program that does so reports Served, at PathServed.
	ServedPort = 8445
	// PathServed is the path there.
	PathServed = "/served"
	// UpstreamDir has the account that a stream logs in with, in the files SourceUser and SourcePassword.
	UpstreamDir = "/etc/backup/upstream"
	// UpstreamCADir has the CA of the servers in the file CA.
	UpstreamCADir = "/etc/backup/upstream-ca"
	// UpstreamClientDir has a certificate of the program, and its key.
	UpstreamClientDir = "/etc/backup/upstream-client"
)

// Refused begins the error of a channel whose cluster cannot be followed any more by that archive: it is to be seeded
// anew.
const Refused = "the archive cannot be followed: "

// Served is what the program that serves an archive reports.
type Served struct {
	// GTID is the last transaction of the archive, Segment the number of its last segment; "" and 0 while they are not
	// known.
	GTID    string `json:"gtid,omitempty"`
	Segment uint64 `json:"segment,omitempty"`
	// Through is until when the archive has all that was committed: it ages when nothing is archived any more.
	Through time.Time `json:"through,omitzero"`
	// Observed is when the reading of the store began that found this.
	Observed time.Time `json:"observed,omitzero"`
	// Chain is the number of the segment that the chain of the archive's end has begun with. A follower of another one is
	// refused.
	Chain uint64 `json:"chain,omitempty"`
	// Continues is the chain that is followed if Chain is a later one that goes on from it without a loss, after the
	// transaction Begin; 0 otherwise.
	Continues uint64 `json:"continues,omitempty"`
	Begin     string `json:"begin,omitempty"`
	// Problem is why the store could not be read last, "" when it could.
	Problem string `json:"problem,omitempty"`
	// Promotion is the one that counts once Serve.Promotion was to be recorded: that one, or another cluster's; nil while
	// it is not known. Unrecorded is why not, "" for nothing. Waits reports whether it is recorded, and counts once the
	// lease of the other cluster has ended.
	Promotion  *Promotion `json:"promotion,omitempty"`
	Unrecorded string     `json:"unrecorded,omitempty"`
	Waits      bool       `json:"waits,omitempty"`
	// Stream is what is known of the stream, nil where there is none to be.
	Stream *Streamed `json:"stream,omitempty"`
	// Line is the line of history to record as Serve.Line in the place of LineBefore, "" for none.
	Line       string `json:"line,omitempty"`
	LineBefore string `json:"lineBefore,omitempty"`
}

// Streamed is the stream of a server that is followed.
type Streamed struct {
	// Endpoint is HOST:PORT of the server, that of the last attempt while none is Connected.
	Endpoint  string `json:"endpoint,omitempty"`
	Connected bool   `json:"connected,omitempty"`
	// Error is why there is none, of each server that was tried; "" while one runs.
	Error string `json:"error,omitempty"`
}

// Stream is which servers are streamed from, in the order in which they are tried.
type Stream struct {
	// Endpoints are HOST:PORT of each.
	Endpoints []string `json:"endpoints"`
	// AnyName takes any certificate of the CA, whatever its name.
	AnyName bool `json:"anyName,omitempty"`
	// Client shows a certificate to the servers.
	Client bool `json:"client,omitempty"`
}

// Serve is an archive that replicas follow.
type Serve struct {
	// Dir is the directory of the store of the cluster that is followed (manifest.Dir).
	Dir string `json:"dir"`
	// Chain is the number of the segment that the chain of the follower has begun with: no other chain is served.
	Chain uint64 `json:"chain"`
	// To is the number of the last segment that the follower began with, and Sum the checksum of its head: an archive that
	// was begun in another store has chains of the same numbers. 0 where it began with a backup alone.
	To  uint64 `json:"to,omitempty"`
	Sum string `json:"sum,omitempty"`
	// Promotion is to be recorded: the follower takes over. nil while it follows. SingleWriter reports whether the store
	// creates nothing conditionally.
	Promotion    *Promotion `json:"promotion,omitempty"`
	SingleWriter bool       `json:"singleWriter,omitempty"`
	// Line is the line of history (HISTORY/ID) in which the follower may have been sent more than the archive had: of a
	// later line nothing is sent before it is shown that nothing of this one was lost. "" where nothing was streamed.
	Line string `json:"line,omitempty"`
	// Stream is what is streamed from, nil for the archive alone.
	Stream *Stream `json:"stream,omitempty"`
}
