package harness

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// AssignedUser is the user of all pods in the namespaces of AssignUsers.
	AssignedUser  = int64(1000620000)
	assignedLabel = "test.galera-operator.io/assigned-user"
)

// assigning does what OpenShift's restricted-v2 does: it gives pods that name no user the one of the namespace, with
// its group 0 and a group for files, and refuses all that name another one.
const assigning = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {%[2]s: "true"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  matchConditions:
  - {name: unnamed, expression: "!has(object.spec.securityContext.runAsUser) && !has(object.spec.securityContext.fsGroup)"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsUser: %[3]d, fsGroup: %[3]d}}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {%[2]s: "true"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  validations:
  - message: the namespace assigns users and groups
    expression: >-
      object.spec.securityContext.?runAsUser.orValue(0) == %[3]d && object.spec.securityContext.?fsGroup.orValue(0) == %[3]d &&
      object.spec.securityContext.?runAsGroup.orValue(0) == 0 &&
      (object.spec.containers + object.spec.?initContainers.orValue([])).all(c, c.?securityContext.?runAsUser.orValue(%[3]d) == %[3]d)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// AssignUsers makes exactly these namespaces assign a user to pods, and refuse pods that name one.
func (k Namespaces) AssignUsers(ctx context.Context, namespaces ...string) error {
	text := fmt.Sprintf(assigning, "assigned-users", assignedLabel, AssignedUser)
	verb := []string{"apply", "--server-side"}
	if len(namespaces) == 0 {
		verb = []string{"delete", "--ignore-not-found"}
	}
	if _, err := run(ctx, text, "kubectl", append([]string{"--context", k.kube.Context},
		append(verb, "-f", "-")...)...); err != nil {
		return err
	}
	var all corev1.NamespaceList
	if err := k.kube.List(ctx, &all); err != nil {
		return err
	}
	for _, n := range all.Items {
		label := "null"
		if slices.Contains(namespaces, n.Name) {
			label = `"true"`
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+assignedLabel+`":`+label+`}}}`))
		if err := k.kube.Patch(ctx, &n, patch); err != nil {
			return err
		}
	}
	return nil
}
