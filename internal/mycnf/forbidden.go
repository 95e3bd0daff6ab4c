package mycnf

import (
	"maps"
	"slices"
	"strings"
)

// Why a setting belongs to the operator; these are the reasons ForbiddenSetting gives.
const (
	reasonPlaces      = "the operator decides where files, sockets and ports are"
	reasonWrites      = "Galera needs the value the operator sets"
	reasonReplication = "replication is configured by the operator"
	reasonTLS         = "encryption is configured in spec.tls"
	reasonAtRest      = "encryption of what lies on disks is configured in spec.encryption"
	reasonLog         = "the server's log goes to the container's output"
	reasonSafety      = "it would let a node start with damaged, hidden or unprotected data"
	reasonPasswords   = "it is OFF: a node that refuses the hash of a password does so alone, and the other nodes " +
		"create the account"
	reasonEvents = "events run on the primary alone, or nowhere: set spec.mariadb.events to FollowPrimary or Disabled, " +
		"and remove this setting"
	reasonFilters   = "with a filter of what is replicated, nodes would hold different data"
	reasonShortened = "write the setting's name in full: shortened names could mean one that belongs to the operator"
	reasonMalformed = "it is not the name of a setting"
)

// owned lists the settings that only the operator may write, by normalised name.
var owned = map[string]string{
	"datadir": reasonPlaces, "basedir": reasonPlaces, "tmpdir": reasonPlaces, "socket": reasonPlaces,
	"pid-file": reasonPlaces, "port": reasonPlaces, "bind-address": reasonPlaces, "user": reasonPlaces,
	"chroot": reasonPlaces, "plugin-dir": reasonPlaces, "name-resolve": reasonPlaces,
	"networking": reasonPlaces, "extra-port": reasonPlaces,
	"innodb-data-home-dir": reasonPlaces, "innodb-log-group-home-dir": reasonPlaces,
	"innodb-undo-directory": reasonPlaces, "aria-log-dir-path": reasonPlaces, "log-basename": reasonPlaces,
	"secure-file-priv": reasonPlaces, "general-log-file": reasonPlaces, "slow-query-log-file": reasonPlaces,
	"log-slow-query-file": reasonPlaces, "log-bin-index": reasonPlaces, "log-tc": reasonPlaces,
	"log-ddl-recovery": reasonPlaces,
	"relay-log":        reasonPlaces, "relay-log-index": reasonPlaces, "relay-log-info-file": reasonPlaces,
	"master-info-file":  reasonPlaces,
	"slave-load-tmpdir": reasonPlaces, "innodb-tmpdir": reasonPlaces, "innodb-buffer-pool-filename": reasonPlaces,
	"lc-messages-dir": reasonPlaces, "character-sets-dir": reasonPlaces,

	"binlog-format": reasonWrites, "innodb-autoinc-lock-mode": reasonWrites,
	"default-storage-engine": reasonWrites, "enforce-storage-engine": reasonWrites,

	"ssl": reasonTLS, "ssl-ca": reasonTLS, "ssl-capath": reasonTLS, "ssl-cert": reasonTLS, "ssl-key": reasonTLS,
	"ssl-cipher": reasonTLS, "ssl-crl": reasonTLS, "ssl-crlpath": reasonTLS, "ssl-passphrase": reasonTLS,
	"tls-version": reasonTLS, "require-secure-transport": reasonTLS,

	"file-key-management": reasonAtRest, "file-key-management-filename": reasonAtRest,
	"file-key-management-filekey": reasonAtRest, "file-key-management-encryption-algorithm": reasonAtRest,
	"file-key-management-digest": reasonAtRest, "file-key-management-use-pbkdf2": reasonAtRest,
	"innodb-encrypt-tables": reasonAtRest, "innodb-encrypt-log": reasonAtRest,
	"innodb-encrypt-temporary-tables": reasonAtRest, "innodb-encryption-threads": reasonAtRest,
	"innodb-encryption-rotate-key-age": reasonAtRest, "innodb-default-encryption-key-id": reasonAtRest,
	"aria-encrypt-tables": reasonAtRest, "encrypt-binlog": reasonAtRest, "encrypt-tmp-files": reasonAtRest,
	"encrypt-tmp-disk-tables": reasonAtRest,

	"strict-password-validation": reasonPasswords,

	"event-scheduler": reasonEvents,

	"log-error": reasonLog, "console": reasonLog, "syslog": reasonLog,

	"grant-tables": reasonSafety, "init-file": reasonSafety, "bootstrap": reasonSafety,
	"innodb-force-recovery": reasonSafety, "innodb-read-only": reasonSafety, "innodb": reasonSafety,
	"innodb-fast-shutdown": reasonSafety, "tc-heuristic-recover": reasonSafety, "innodb-doublewrite": reasonSafety,
	"debug-no-sync": reasonSafety,

	"replicate-do-db": reasonFilters, "replicate-ignore-db": reasonFilters, "replicate-rewrite-db": reasonFilters,
	"replicate-do-table": reasonFilters, "replicate-ignore-table": reasonFilters,
	"replicate-wild-do-table": reasonFilters, "replicate-wild-ignore-table": reasonFilters,
	"binlog-do-db": reasonFilters, "binlog-ignore-db": reasonFilters,
}

// wsrepAllowed lists the wsrep settings a user may set: they tune, they do not decide who is a
// member or what a state transfer does.
var wsrepAllowed = []string{
	"wsrep-auto-increment-control", "wsrep-certification-rules", "wsrep-certify-nonpk",
	"wsrep-debug", "wsrep-gtid-domain-id", "wsrep-gtid-mode", "wsrep-ignore-apply-errors",
	"wsrep-load-data-splitting", "wsrep-log-conflicts", "wsrep-max-ws-rows", "wsrep-max-ws-size",
	"wsrep-mode", "wsrep-osu-method", "wsrep-retry-autocommit", "wsrep-slave-fk-checks",
	"wsrep-slave-threads", "wsrep-slave-uk-checks", "wsrep-sync-wait", "wsrep-trx-fragment-size",
	"wsrep-trx-fragment-unit", "wsrep-black-box-name", "wsrep-black-box-size", "wsrep-applier-retry-count",
}

// wsrepPrefix begins the names of all of Galera's settings.
const wsrepPrefix = "wsrep"

// Normalise brings a setting's name to the form names are compared in: lower case, dashes, and
// without the prefixes MariaDB understands on top of a name (loose-, skip-, enable-, …).
func Normalise(key string) string {
	k := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(key), "_", "-"))
	for {
		before := k
		for _, p := range []string{"loose-", "skip-", "enable-", "disable-", "maximum-", "autoset-"} {
			k = strings.TrimPrefix(k, p)
		}
		if k == before {
			return k
		}
	}
}

// ForbiddenSetting reports whether a [mysqld] setting belongs to the operator, and why. Dashes,
// underscores, case and MariaDB's prefixes make no difference; neither do shortened names, which
// MariaDB would complete by itself.
func ForbiddenSetting(key string) (reason string, forbidden bool) {
	if CheckSetting(key, "") != nil {
		return reasonMalformed, true
	}
	k := Normalise(key)
	if k == "" {
		return reasonMalformed, true
	}
	if why, ok := owned[k]; ok {
		return why, true
	}
	if strings.HasPrefix(k, wsrepPrefix) {
		return reasonReplication, !slices.Contains(wsrepAllowed, k)
	}
	if strings.HasPrefix(wsrepPrefix, k) {
		return reasonShortened, true
	}
	shortened := func(name string) bool { return name != k && strings.HasPrefix(name, k) }
	if !slices.Contains(fullNames, k) && (slices.ContainsFunc(slices.Collect(maps.Keys(owned)), shortened) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(values)), shortened)) {
		return reasonShortened, true
	}
	return "", false
}

// fullNames are whole settings whose names begin an owned one.
var fullNames = []string{"log", "log-bin", "general-log", "slow-query-log", "log-slow-query", "lc-messages", "debug"}
