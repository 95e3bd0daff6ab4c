package external

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Back is how an old server follows the cluster that was cut over from it.
type Back struct {
	// Host and Port are where the old server reaches the cluster, and User is its account there. CA is the file with the
	// cluster's CA on the old server, "" for a connection in clear text.
	Host string
	Port int
	User string
	CA   string
	// GTID is the old server's last position. Own is the last transaction of the cluster's own domain before clients
	// could write, with the number 0 for none.
	GTID, Own string
}

// Statements are what the old server runs. The password is theirs to fill in.
func (b Back) Statements() []string {
	trust := "MASTER_SSL = 0"
	if b.CA != "" {
		trust = "MASTER_SSL = 1, MASTER_SSL_VERIFY_SERVER_CERT = 1, MASTER_SSL_CA = " + literal(b.CA)
	}
	position := b.GTID
	if _, number, _ := origin(b.Own); number > 0 {
		position += "," + b.Own
	}
	return []string{
		"SET GLOBAL read_only = ON",
		// A node that got a full copy since may lack transactions in its binary log: the channel ends with an error then,
		// where a server that is not strict would go on without them.
		"SET GLOBAL gtid_strict_mode = ON",
		"SET GLOBAL replicate_wild_ignore_table = 'mysql.%'", // accounts are not followed
		"SET GLOBAL gtid_slave_pos = " + literal(position),
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %d, MASTER_USER = %s, MASTER_PASSWORD = 'PASSWORD', "+
			"%s, MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 2", literal(b.Host), b.Port, literal(b.User), trust),
		"START SLAVE",
	}
}

// OldServer is what an old server is like.
type OldServer struct {
	Version, Position string
	// Followed is the last transaction of other servers that it has carried out, also while it follows none.
	Followed string
	ServerID uint64
	// Upstream is whose writes it carries out, "" for no one's, and Unknown why that is not known.
	Upstream, Unknown string
}

// Old asks an old server what it is like.
func Old(ctx context.Context, server *sql.DB) (o OldServer, err error) {
	err = server.QueryRowContext(ctx, "SELECT @@version, @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos, "+
		"@@GLOBAL.server_id").Scan(&o.Version, &o.Position, &o.Followed, &o.ServerID)
	if err != nil {
		return o, err
	}
	u, err := AskUpstream(ctx, server)
	if code(err) == errPrivilege {
		o.Unknown, err = err.Error(), nil
	}
	o.Upstream = u.String()
	return o, err
}

// Refuses is why an old server cannot follow the cluster, nil for nothing.
func (b Back) Refuses(o OldServer) (why []string) {
	if at := b.carriedOut(o); at != "" { // its other findings follow from that
		return []string{fmt.Sprintf("it has followed the cluster already, up to %s, and would carry out again what it has. "+
			"Run START SLAVE there, without another gtid_slave_pos. If RESET SLAVE ALL was run there, run CHANGE MASTER TO "+
			"first, with MASTER_USE_GTID = slave_pos", at)}
	}
	if _, number, _ := origin(b.Own); number == 0 {
		why = append(why, "the cluster had written nothing of its own before the cutover: a node whose binary log lacks its "+
			"first transactions could not be distinguished from a complete one. Copy the cluster to the old server instead")
	}
	if gtids(o.Position) != gtids(b.GTID) {
		why = append(why, fmt.Sprintf("it has written since the cutover: its position is %s, and the cluster has its "+
			"transactions up to %s. What came after would be on the old server only", o.Position, b.GTID))
	}
	if o.Unknown != "" {
		why = append(why, "whether it is a replica already is not known: "+o.Unknown)
	}
	if o.Upstream != "" {
		why = append(why, "it is "+o.Upstream+" already: run STOP SLAVE and RESET SLAVE ALL there, if it is to follow this "+
			"cluster instead")
	}
	if _, _, server := origin(b.Own); server == o.ServerID {
		why = append(why, fmt.Sprintf("its server_id is that of the cluster's nodes, %d: give it another one", server))
	}
	return why
}

// carriedOut is what an old server has carried out of the cluster's own transactions since the cutover, "" for nothing.
// Its binary log shows that only with log_slave_updates.
func (b Back) carriedOut(o OldServer) string {
	domain, number, _ := origin(b.Own)
	for one := range strings.SplitSeq(o.Followed, ",") {
		if of, n, _ := origin(strings.TrimSpace(one)); of == domain && n > number {
			return strings.TrimSpace(one)
		}
	}
	return ""
}

// Warns is what may end the channel of an old server later, whose nodes are of a version; "" for nothing.
func (o OldServer) Warns(version string) string {
	if !later(version, o.Version) {
		return ""
	}
	return fmt.Sprintf("it is %s, and the nodes are %s: that a server applies what a later series writes is not promised "+
		"by MariaDB. Use nothing that only the later one has, as long as you may have to go back", o.Version, version)
}

// Held returns what a node's binary log lacks of what follows a position, "" for nothing.
func (b Back) Held(ctx context.Context, node *sql.DB) (lacks string, err error) {
	rows, err := node.QueryContext(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var first string
	var size int64
	if !rows.Next() {
		return "it has no binary log", rows.Err()
	}
	if err := rows.Scan(&first, &size); err != nil {
		return "", err
	}
	if err := rows.Close(); err != nil {
		return "", err
	}
	var begins sql.NullString
	if err := node.QueryRowContext(ctx, "SELECT BINLOG_GTID_POS(?, 4)", first).Scan(&begins); err != nil {
		return "", err
	}
	return b.missing(begins.String), nil
}

// Foreign is why Own is not of a node that writes in a domain, "" where it is. The manifest of another cluster has that
// one's.
func (b Back) Foreign(domain uint64) string {
	if of, _, _ := origin(b.Own); of == domain {
		return ""
	}
	return fmt.Sprintf("spec.cutover.own, %s, is not of this cluster, which writes in the GTID domain %d: it is not "+
		"known from which of its transactions on the old server would have to follow it", b.Own, domain)
}

// missing is what a binary log lacks that begins after a position.
func (b Back) missing(begins string) string {
	domain, number, _ := origin(b.Own)
	for one := range strings.SplitSeq(begins, ",") {
		if of, n, _ := origin(strings.TrimSpace(one)); of == domain && n > number {
			return fmt.Sprintf("its binary log begins after %s, and what follows %s is needed", strings.TrimSpace(one), b.Own)
		}
	}
	return ""
}

// OwnPosition is the last transaction of the own domain of nodes, DOMAIN-SERVER-NUMBER, with the number 0 for none.
func OwnPosition(ctx context.Context, nodes map[string]*sql.DB) (string, error) {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		var domain, server uint64
		var position string
		if err := nodes[name].QueryRowContext(ctx, "SELECT @@GLOBAL.wsrep_gtid_domain_id, @@GLOBAL.server_id, "+
			"@@GLOBAL.gtid_binlog_pos").Scan(&domain, &server, &position); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		out = laterOf(out, ownIn(position, domain, server))
	}
	return out, nil
}

// ownIn is the one of a domain in a position.
func ownIn(position string, domain, server uint64) string {
	for one := range strings.SplitSeq(position, ",") {
		if of, n, _ := origin(strings.TrimSpace(one)); of == domain && n > 0 {
			return strings.TrimSpace(one)
		}
	}
	return fmt.Sprintf("%d-%d-0", domain, server)
}

func laterOf(a, b string) string {
	_, n, _ := origin(a)
	if _, m, _ := origin(b); a == "" || m > n {
		return b
	}
	return a
}

// origin reads a GTID: all is 0 for one that cannot be read.
func origin(gtid string) (domain, number, server uint64) {
	parts := strings.Split(gtid, "-")
	if len(parts) != 3 {
		return 0, 0, 0
	}
	var out [3]uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return 0, 0, 0
		}
		out[i] = n
	}
	return out[0], out[2], out[1]
}

// gtids is a position in one order.
func gtids(position string) string {
	all := strings.Split(strings.ReplaceAll(position, " ", ""), ",")
	slices.Sort(all)
	return strings.Join(all, ",")
}

func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
