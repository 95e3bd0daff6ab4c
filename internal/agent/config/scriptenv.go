package config

import (
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// safeName are the characters a joiner's common name may have in its request for a transfer.
const safeName = "A-Za-z0-9._-"

// standIn is what a joiner sends in place of a common name that has other characters, or none.
const standIn = "unnamed"

// scriptEnv makes transfers faster: it shortens the donor's fixed ten-second sleep between the two streams of a
// mariabackup transfer (sockopt makes the donor wait for the joiner itself), and lets socat move eight times as much
// at a time as it does by itself, which takes a third less of the processors, and log which TLS was spoken
// (server.ParseHandshake), as it lets a joiner's stunnel. It also notes who gives what to
// whom. The file is BASH_ENV of mariadbd, so bash reads it before each script. A directory in PATH
// would not do: mariadbd puts its own bin directory in front.
//
// The joiner's first stream, which is awaited with timeout, logs more: with a number of retries a listening socat goes
// on when it has turned a client away, and calls the reason no error.
//
// The pipes between socat and its neighbours are widened (package widen): socat's own option for that fails, and with
// it the transfer, where the host does not give so much, and older ones have none.
//
// In a pipe socat takes the place of its shell, so that its exit code and its process are where the scripts look. So
// does stunnel, which a joiner starts in the background.
//
// Where a transfer is to be encrypted, rsync's script must not continue without a stunnel that it would find: it would
// copy in clear, silently, whatever ssl-mode says. The image was checked (Needed), but not through this very PATH.
//
// stunnel takes its own settings for OpenSSL's: a joiner's, which decides, is given the policy (tunnel, "" where a
// transfer is not to be encrypted).
func scriptEnv(notes, agent, tunnel string) string {
	guard := ""
	if tunnel != "" {
		guard = `	if [ "${0##*/}" = wsrep_sst_rsync ] && ! type -P stunnel >/dev/null; then
		echo 'WSREP_SST: [ERROR] stunnel not found in PATH: rsync would send everything in clear' >&2
		exit 2
	fi
`
	}
	return `# Read by bash before each transfer script (BASH_ENV).
case "${0##*/}" in
wsrep_sst_mariabackup | wsrep_sst_rsync)
` + guard + notesScript(notes) + `	sleep() {
		if [ "$*" = 10 ]; then
			command sleep 0.3
		else
			command sleep "$@"
		fi
	}
	if type -P socat >/dev/null; then
		socat() {
			set -- "${@//,commonname=` + standIn + `/,commonname=}"
			if [ "$BASHPID" != $$ ]; then
				` + agent + ` widen || :
				exec socat -d -d -b 65536 "$@"
			fi
			command socat -d -d -b 65536 "$@"
		}
	fi
	if type -P stunnel >/dev/null; then
		stunnel() {
			sed -i 's/^debug = warning$/debug = info` + tunnel + `/' "$1" || exit 2
			if [ "$BASHPID" != $$ ]; then exec stunnel "$@"; fi
			command stunnel "$@"
		}
	fi
` + commonName + `	if type -P timeout >/dev/null; then
		timeout() {
			local word words=()
			for word; do
				words+=("$word")
				if [ "$word" = socat ]; then words+=(-d -d -d); fi
			done
			if [ "$BASHPID" != $$ ]; then exec timeout "${words[@]}"; fi
			command timeout "${words[@]}"
		}
	fi
	;;
esac
`
}

// commonName is the part of scriptEnv about names. A joiner hands its certificate's common name and a secret to the
// donor with the request for the transfer. MariaDB 11.8.9 cancels the transfer when that name has other characters than
// safeName's, and loses the secret when it is empty. Then standIn is sent: the donor asks for no name, and checks the
// joiner's chain alone, as it does for every name since that release.
const commonName = `	if type -P openssl >/dev/null; then
		openssl() {
			local LC_ALL=C key is value name=
			if [ "${*:1:3}" = 'x509 -noout -subject' ]; then
				while read -r key is value; do
					if [ "$key" = commonName ]; then name=$value; fi
				done < <(command openssl "$@" -nameopt multiline)
				case "$name" in '' | *[!` + safeName + `]*)
					echo 'subject=CN = ` + standIn + `'
					return
					;;
				esac
			fi
			command openssl "$@"
		}
	fi
`

// tunnel is the policy for a joiner's stunnel, as lines that follow another one in sed.
func tunnel(in Input) string {
	if in.Config.TLS.StateTransfer != galera.PolicyRequired {
		return ""
	}
	least := "TLSv1.3"
	if in.Config.TLS.MinVersion == "1.2" {
		least = "TLSv1.2"
	}
	return `\nsslVersionMin = ` + least + `\nciphersuites = ` + strings.Join(suites(in.Config.TLS, in.CPUFlags), ":") +
		`\noptions = CIPHER_SERVER_PREFERENCE`
}
