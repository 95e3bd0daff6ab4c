package resources

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// NodeConfig returns what the agents are to run with. The policy is a parameter, because a step of
// a switch runs with another one than the spec's; so is the number of members, because nodes come and
// go one at a time.
func NodeConfig(c *v1alpha1.GaleraCluster, size int, tls agentapi.TLSConfig, opts Options) agentapi.NodeConfig {
	n := writes(c)
	n.History = c.Status.ClusterUUID
	n.Members = members(c, size, opts)
	n.TLS = tls
	n.StateTransfer = stateTransfer(c)
	n.Settings = Settings(c)
	n.Hibernated = c.Spec.Hibernate
	n.SendWindows = sendWindows(c.Spec.Replication)
	if opts.LogFormat != logText {
		n.LogFormat = opts.LogFormat
	}
	if a := c.Spec.RootAccess; a != nil {
		n.RootAccess = &agentapi.RootAccess{Hosts: slices.Clone(a.Hosts), Disabled: a.Disabled}
	}
	n.AtRest = AtRest(c)
	n.Revision = revision(n)
	return n
}

// writes is what decides who accepts writes.
func writes(c *v1alpha1.GaleraCluster) agentapi.NodeConfig {
	return agentapi.NodeConfig{
		Cluster:       c.Name,
		Namespace:     c.Namespace,
		UID:           cmp.Or(c.Status.Identity, string(c.UID)),
		RunEvents:     c.Spec.MariaDB.Events == v1alpha1.EventsFollowPrimary && !c.Follows() && !c.Refuses(),
		Follow:        follow(c),
		Refuse:        c.Refuses(),
		Refusal:       refusal(c),
		Lease:         c.NeedsWriteLease(),
		LeaseUnwanted: leaseUnwanted(c),
	}
}

// WithWrites returns the configuration that the nodes have, with what decides who accepts writes as it is now: for
// while nothing else may reach them. It keeps its revision where nothing differs, as one of another cluster does.
func WithWrites(c *v1alpha1.GaleraCluster, have agentapi.NodeConfig) agentapi.NodeConfig {
	n := have.WithWritesOf(writes(c))
	if bytes.Equal(mustJSON(n), mustJSON(have)) {
		return have
	}
	n.Revision = revision(n)
	return n
}

// follow is the source that the nodes follow, nil for none. It stays in the configuration of a cluster that has become
// independent: nodes decide by their own position whether they accept writes.
func follow(c *v1alpha1.GaleraCluster) *agentapi.Follow {
	from := c.Source()
	if from == nil {
		return nil
	}
	out := &agentapi.Follow{Host: from.Host, Port: int(from.Port), Plain: from.TLS == nil, ServerID: ServerID(c)}
	for _, h := range from.Alternatives {
		out.Alternatives = append(out.Alternatives, agentapi.Endpoint{Host: h.Host, Port: int(h.Port)})
	}
	if c.Emptying() {
		return out // no node accepts writes that are removed
	}
	switch {
	case c.TakesOver():
		out.Until = c.Spec.Cutover.GTID
		out.Ended = !c.Follows()
	case v1alpha1.HoldsAtCutover(c): // whatever becomes of the record
		out.Hold, out.HoldEnds = c.Spec.Cutover.GTID, never
	default:
		out.Hold, out.HoldEnds = hold(c.Annotations[v1alpha1.AnnotationHoldChannel])
	}
	return out
}

// never is when the channel goes on that waits for the record of a promotion.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// holdValue is what AnnotationHoldChannel may hold.
var holdValue = regexp.MustCompile(`^(now|[0-9]+-[0-9]+-[0-9]+(?:,[0-9]+-[0-9]+-[0-9]+){0,63})@(\S+)$`)

// hold is where the channel stops for a comparison, "" for nowhere.
func hold(annotation string) (at string, ends time.Time) {
	v := holdValue.FindStringSubmatch(annotation)
	if v == nil {
		return "", time.Time{}
	}
	ends, err := time.Parse(time.RFC3339, v[2])
	if err != nil {
		return "", time.Time{}
	}
	return v[1], ends.UTC()
}

// ServerID is that of all nodes of a cluster that follows, or has followed, another one, and its GTID domain; 0 for a
// cluster that has not. It is a number that no source has by accident: people number their servers from 1.
func ServerID(c *v1alpha1.GaleraCluster) uint32 {
	if !c.HasFollowed() {
		return 0
	}
	sum := sha256.Sum256([]byte(cmp.Or(c.Status.Identity, string(c.UID))))
	return binary.BigEndian.Uint32(sum[:]) | 1<<31
}

// sendWindows are those the spec fixes, nil when it fixes none.
func sendWindows(r *v1alpha1.ReplicationSpec) *agentapi.SendWindows {
	if r == nil || r.SendWindows == nil {
		return nil
	}
	return &agentapi.SendWindows{UserSendWindow: int(r.SendWindows.UserSendWindow),
		SendWindow: int(r.SendWindows.SendWindow)}
}

// logText is what agents write when nothing is configured.
const logText = "text"

// TLSConfig returns the policy of the spec.
func TLSConfig(c *v1alpha1.GaleraCluster) agentapi.TLSConfig {
	spec := c.Spec.TLS
	replication := spec.Replication != v1alpha1.TLSDisabled
	t := agentapi.TLSConfig{
		Replication:   galera.SocketStrict,
		StateTransfer: galera.PolicyRequired,
		Clients:       galera.PolicyRequired,
		MinVersion:    "1.3",
	}
	if !replication {
		t.Replication = galera.SocketPlain
	}
	if spec.StateTransfer == v1alpha1.TLSDisabled || (spec.StateTransfer == "" && !replication) {
		t.StateTransfer = galera.PolicyDisabled
	}
	if spec.Clients != "" {
		t.Clients = galera.ChannelPolicy(spec.Clients)
	}
	if spec.MinVersion != "" {
		t.MinVersion = spec.MinVersion
	}
	if spec.Cipher != "" && spec.Cipher != "Auto" {
		t.CipherSuites = []string{spec.Cipher}
	}
	return t
}

func members(c *v1alpha1.GaleraCluster, size int, opts Options) []agentapi.Peer {
	peers := make([]agentapi.Peer, size)
	for i := range peers {
		peers[i] = agentapi.Peer{Name: PodName(c, i), Host: PodHost(c, i, opts)}
	}
	return peers
}

// Settings returns the settings of a node's [mysqld] section that the spec asks for.
func Settings(c *v1alpha1.GaleraCluster) map[string]string {
	logs := c.ArchivesBinlog() || c.HasFollowed()
	if len(c.Spec.MariaDB.Config) == 0 && !logs {
		return nil
	}
	out := make(map[string]string, len(c.Spec.MariaDB.Config))
	if logs {
		maps.Copy(out, binlogDefaults(c))
	}
	for name, value := range c.Spec.MariaDB.Config {
		for own := range out { // the same one in another spelling
			if mycnf.Normalise(own) == mycnf.Normalise(name) {
				delete(out, own)
			}
		}
		out[name] = value.String()
	}
	if c.ArchivesBinlog() || logs && c.Source() == nil { // a node that follows has them of its agent
		maps.Copy(out, BinlogSettings())
	}
	if c.HasFollowed() && (c.ArchivesBinlog() || c.Source() == nil) {
		maps.Copy(out, ownDomain(c))
	}
	return out
}

// revision is a hash of everything in the document but itself, and the history: no server is started otherwise for it.
// JSON sorts the keys of maps.
func revision(n agentapi.NodeConfig) string {
	n.Revision, n.History = "", ""
	sum := sha256.Sum256(mustJSON(n))
	return hex.EncodeToString(sum[:8])
}

// mustJSON encodes a document of strings, numbers and booleans, which cannot fail.
func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// leaseUnwanted names the time at which a lease was turned off that nodes need still, 0 for none. It may be turned on
// and off again before nodes have read the first time.
func leaseUnwanted(c *v1alpha1.GaleraCluster) int64 {
	if c.WantsWriteLease() || !c.NeedsWriteLease() {
		return 0
	}
	return c.Generation
}

// refusal is for what nodes refuse writes.
func refusal(c *v1alpha1.GaleraCluster) agentapi.Refusal {
	out := agentapi.Refusal{Switching: c.SwitchNumber()}
	if s := c.Status.SwitchSite; c.Switching() {
		if out.SwitchingFrom = s.From; s.Location != nil {
			out.SwitchingIn = string(mustJSON(s.Location))
		}
	}
	if c.Superseded() {
		by := *c.Status.Superseded
		by.Surplus, by.CountedBy = nil, "" // it grows, and nothing is published anew for it
		out.SupersededBy = string(mustJSON(by))
	}
	return out
}
