package retry

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// OnlyConflicts says that err is not nil and holds nothing but lost races.
func OnlyConflicts(err error) bool {
	if err == nil {
		return false
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return apierrors.IsConflict(err)
	}
	return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !OnlyConflicts(e) })
}
