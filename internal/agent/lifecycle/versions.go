package lifecycle

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Build is what decides whose data a member may take, and whether it may use its own.
type Build struct {
	// Image is the version of the image's mariadbd.
	Image string
	// Newer is the version that has used the data here, "" unless it is of a later series.
	Newer string
}

// JudgeVersions is the join rule about versions. A server never runs on data a later series has used: it may
// well start and serve, and misread what InnoDB has converted. Where the join rule allows to replace
// them, they are replaced by a full copy. Nor does it take anything from a member of a later series: a
// full copy would be such data, and the later donor's script cannot even be talked to about an
// incremental transfer (it has renamed a file, and Galera then marks the joiner's data as bad).
func JudgeVersions(b Build, v JoinDecision, peers map[string]agentapi.PeerView) JoinDecision {
	able, later := ableDonors(b.Image, peers)
	alike := slices.ContainsFunc(PrimaryPeers(able), func(p agentapi.PeerView) bool {
		return p.Version != "" &&
			!p.Draining
	})
	switch {
	case b.Newer != "" && v.Join && alike:
		return v
	case b.Newer != "":
		return Refused(agentapi.FailureDowngrade,
			"%s; put the later image back. Or, when others serve with an image like this one, give it an "+
				"empty volume: it is then filled again", DowngradeMessage(b.Image, b.Newer))
	case v.Join && later && len(PrimaryPeers(able)) == 0:
		p := PrimaryPeers(peers)[0]
		return Refused(agentapi.FailureDowngrade,
			"what is missing here would have to come from %s, which runs MariaDB %s; this image has the older %s, "+
				"which can take nothing from a later one: give this member the later image, too", p.Name, p.Version, b.Image)
	}
	return v
}

// DowngradeMessage returns the reason why an image's mariadbd must not run on data that a later series has used.
func DowngradeMessage(image, used string) string {
	return fmt.Sprintf(
		"MariaDB %s has used the data here, and this image has the older %s, which must not run on them: nothing was touched",
		used, image)
}

// ableDonors leaves out the peers whose server is of a later series than the image; later reports whether one of them
// is in a Primary component.
func ableDonors(image string, peers map[string]agentapi.PeerView) (able map[string]agentapi.PeerView, later bool) {
	able = map[string]agentapi.PeerView{}
	for name, p := range peers {
		if !galera.Older(image, p.Version) {
			able[name] = p
		}
	}
	return able, len(PrimaryPeers(able)) < len(PrimaryPeers(peers))
}
