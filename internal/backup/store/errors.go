package store

import (
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// fullCodes are what services answer when there is no room.
var fullCodes = []string{"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"}

// Reason classifies an error of a store: whether it can be reached, refuses, or is full. Fatal says that only a change of the store, or of its
// credentials, cures it.
func Reason(err error) (reason string, fatal bool) {
	var api smithy.APIError
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return task.ReasonStoreFull, false
	case errors.As(err, &api) && isFull(api.ErrorCode()):
		return task.ReasonStoreFull, false
	case isNet(err):
		return task.ReasonStoreUnreachable, false
	case errors.As(err, &api) || gcerrors.Code(err) == gcerrors.PermissionDenied || gcerrors.Code(err) == gcerrors.NotFound:
		return task.ReasonStoreRefused, true
	}
	return task.ReasonStoreUnreachable, false
}

// Explain is an error in the words of the service: its code and message, without the request.
func Explain(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	}
	return err.Error()
}

// Missing says that there is no such object.
func Missing(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

func isFull(code string) bool {
	for _, c := range fullCodes {
		if strings.EqualFold(c, code) {
			return true
		}
	}
	return false
}

func isNet(err error) bool {
	var n net.Error
	return errors.As(err, &n)
}

// Bucket is what the program uses of a store.
type Bucket = blob.Bucket
