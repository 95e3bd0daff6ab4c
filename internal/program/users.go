package program

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Values of --pod-users.
const (
	UsersAuto     = "auto"
	usersFixed    = "fixed"
	usersAssigned = "assigned"
)

// CheckUsers returns an error for another value of --pod-users.
func CheckUsers(how string) error {
	if !slices.Contains([]string{UsersAuto, usersFixed, usersAssigned}, how) {
		return fmt.Errorf("--pod-users is %q, and must be auto, fixed or assigned", how)
	}
	return nil
}

// AssignedUsers reports whether pods name no user. OpenShift, which assigns one to each namespace, serves an API group
// of its own.
func AssignedUsers(how string, config *rest.Config) (bool, error) {
	if how != UsersAuto {
		return how == usersAssigned, nil
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return false, fmt.Errorf("asking the API server for its groups: %w", err)
	}
	return slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "security.openshift.io" }),
		nil
}
