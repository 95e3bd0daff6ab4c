package config

import (
	"net"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// wsrep_provider_options of nodes and garbd at the start; docs/settings.md documents them. Elsewhere are gcache.size
// (WithCache, by package join), and at runtime pc.bootstrap, evs.evict, socket.ssl_reload and both send windows
// (package wsrep; the windows' sizes: WindowTuner). The private server of a restore has options of its own
// (internal/backup/runner/history.go).

// providerOptions are those of a node.
func providerOptions(in Input) string {
	opts := []string{
		// A node that was restarted can still be the donor of an IST.
		"gcache.recover=yes",
		// Every message costs each member a record of TLS and several calls of the kernel, however small it is. With one
		// message in flight, the write-sets that come meanwhile go together in the next: docs/figures.md has both sides.
		"evs.send_window=2", "evs.user_send_window=1",
	}
	if a := in.Config.AtRest; a != nil && a.CacheInMemory {
		opts = append(opts, "gcache.dir="+in.Places.Cache)
	}
	return strings.Join(append(opts, groupOptions(in)...), ";")
}

// groupOptions are those options of the provider that a garbd has, too. Without TLS the keys must be absent, because
// IST picks its scheme by the key.
func groupOptions(in Input) []string {
	opts := []string{
		// gvwstate.dat must not form a component by itself.
		"pc.recovery=no",
		// How often Galera checks for silent members, half its default: an eviction takes effect sooner.
		"evs.inactive_check_period=PT0.25S",
		// A change of the membership often needs a lost message again, and the first messages after it are delivered only
		// when idle nodes have acknowledged them: writers waited 1.2 s for a node to join with 0.5 s and 0.2 s here, 0.4 s
		// with Galera's least.
		"evs.join_retrans_period=PT0.1S", "evs.keepalive_period=PT0.1S",
		// The suspect, install and inactive timeouts stay Galera's own, five seconds and more, though no client can write
		// meanwhile: on a host without idle processors, healthy members lost each other after 1.75 s. A server that has
		// ended is evicted, without a wait for these timeouts.
	}
	if ip := net.ParseIP(in.Address); ip != nil && ip.To4() == nil {
		opts = append(opts, "gmcast.listen_addr=tcp://[::]:4567")
	}
	mode := in.Config.TLS.Replication
	if mode == galera.SocketStrict || mode == galera.SocketDynamic {
		p := in.Places
		opts = append(opts, "socket.ssl=yes", "socket.ssl_key="+p.Key(), "socket.ssl_cert="+p.Cert(), "socket.ssl_ca="+p.CA())
	}
	if mode == galera.SocketDynamic {
		opts = append(opts, "socket.dynamic=yes")
	}
	return opts
}

// WithCache adds the size of the gcache, which each node decides by its own write rate and which is not part of the
// configuration. bytes is rounded down to MiB.
func WithCache(options string, bytes int64) string {
	return options + ";gcache.size=" + strconv.FormatInt(bytes>>20, 10) + "M"
}
