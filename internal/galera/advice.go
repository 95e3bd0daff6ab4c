package galera

// EmptyVolume is the command that gives a member an empty volume. The claim goes when the pod does, so nothing may wait
// for the claim. An agent does not know its namespace: "" leaves it out.
func EmptyVolume(member, namespace string) string {
	in := ""
	if namespace != "" {
		in = " -n " + namespace
	}
	return "kubectl delete pvc data-" + member + in + " --wait=false && kubectl delete pod " + member + in
}
