package status

import v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"

// timeZones returns why the tables of named time zones are of earlier zones than the image's, if filling them has
// failed. known is false while a node that may have failed does not answer.
func timeZones(in Input) (v condition, failed, known bool) {
	known = true
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r != nil && r.ZonesFailure != "" {
			return no(v1alpha1.ReasonZonesNotFilled, m.Name+": the tables of named time zones could not be filled with the "+
				"zones of the image, and are as they were: "+clip(r.ZonesFailure, 1024)+". Correct what the message names, for "+
				"instance free space on the volume, or use an image with mariadb-tzinfo-to-sql. It is tried again, at least once "+
				"an hour; restart the node to have it tried at once"), true, true
		}
		known = known && (r != nil || asleep(in))
	}
	return condition{}, false, known
}
