package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// fullCodes are what services answer when there is no space, passingCodes what they answer with a status of 4xx and
// take back by themselves.
var (
	fullCodes    = []string{"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "AccountLimitExceeded"}
	passingCodes = []string{"RequestTimeout", "SlowDown", "OperationAborted", "ConditionalRequestConflict",
		"rateLimitExceeded", "userRateLimitExceeded", "OperationTimedOut"}
	// credentialCodes report whether credentials are not accepted: they may be about to be renewed, or a clock may be
	// wrong for a while.
	credentialCodes = []string{"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired",
		"InvalidAccessKeyId",
		"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "RequestTimeTooSkewed",
		"RequestExpired",
		"AuthenticationFailed", "InvalidAuthenticationInfo", "authError", noToken}
	// placeCodes report whether the bucket is missing, not the object.
	placeCodes = []string{"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "ResourceNotFound"}
)

// noToken is the code of a service that gives no token to sign requests with.
const noToken = "no token is given"

// refused is an error that only a change of the Secret cures.
type refused struct{ error }

// Reason classifies an error of a store: whether it can be reached, refuses, or is full. Fatal states that only a
// change of the store, or of its credentials, cures it.
func Reason(err error) (reason string, fatal bool) {
	var no refused
	var part incomplete
	said, answered := answerOf(err)
	switch {
	case errors.As(err, &part): // something between may have answered
		return task.ReasonStoreRefused, false
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return task.ReasonStoreFull, false
	case errors.As(err, &no):
		return task.ReasonStoreRefused, true
	case answered && (said.status == http.StatusInsufficientStorage || said.is(fullCodes)):
		return task.ReasonStoreFull, false
	case answered && said.passes():
		return task.ReasonStoreUnreachable, false
	case answered:
		return task.ReasonStoreRefused, said.status != http.StatusUnauthorized && !said.is(credentialCodes) && !said.unknown()
	case isNet(err):
		return task.ReasonStoreUnreachable, false
	case gcerrors.Code(err) == gcerrors.PermissionDenied || gcerrors.Code(err) == gcerrors.NotFound:
		return task.ReasonStoreRefused, true
	}
	return task.ReasonStoreUnreachable, false
}

// passes reports whether the service will answer otherwise after a while.
func (a answer) passes() bool {
	return a.status >= http.StatusInternalServerError || a.status == http.StatusRequestTimeout ||
		a.status == http.StatusTooManyRequests || a.is(passingCodes)
}

// unknown reports whether a refusal does not determine whether it is about rights, or about credentials that have
// expired: S3 gives no reason to HEAD.
func (a answer) unknown() bool {
	return a.bare && (a.status == http.StatusForbidden || a.status == http.StatusBadRequest)
}

func (a answer) is(codes []string) bool {
	return slices.ContainsFunc(codes, func(c string) bool { return strings.EqualFold(c, a.code) })
}

// query is that of a URL: credentials may stand in it.
var query = regexp.MustCompile(`(https?://[^\s"?]+)\?[^\s"]*`)

// Explain is an error in the words of the service: its code and message, without the request. Where no service answers
// it is the host, and the network's error.
func Explain(err error) string {
	var no refused
	if errors.As(err, &no) {
		return no.Error()
	}
	if part := (incomplete{}); errors.As(err, &part) {
		return part.Error()
	}
	if said, answered := answerOf(err); answered {
		return query.ReplaceAllString(strings.TrimSuffix(said.code+": "+said.message, ": "), "$1")
	}
	text := err.Error()
	if sent := (*url.Error)(nil); errors.As(err, &sent) {
		if to, bad := url.Parse(sent.URL); bad == nil && to.Host != "" {
			// what the libraries say around it is about themselves
			text = to.Scheme + "://" + to.Host + ": " + sent.Err.Error()
		}
	}
	return query.ReplaceAllString(text, "$1")
}

// Missing reports whether there is no such object. Google's 403, which the library takes for it, and a bucket that is
// away are none of that.
func Missing(err error) bool {
	if gcerrors.Code(err) != gcerrors.NotFound {
		return false
	}
	said, answered := answerOf(err)
	if !answered {
		return !isNet(err)
	}
	return said.status == http.StatusNotFound && !said.is(placeCodes) && !strings.Contains(said.message,
		"bucket does not exist")
}

// Taken reports whether an object was not created because there is one.
func Taken(err error) bool {
	if errors.Is(err, errTaken) {
		return true
	}
	said, answered := answerOf(err)
	if answered && (said.status == http.StatusPreconditionFailed || strings.EqualFold(said.code, "BlobAlreadyExists")) {
		return true
	}
	code := gcerrors.Code(err)
	return code == gcerrors.FailedPrecondition || code == gcerrors.AlreadyExists
}

// Exists reports whether there is an object.
func Exists(ctx context.Context, b *Bucket, key string) (bool, error) {
	_, err := b.Attributes(ctx, key)
	if Missing(err) {
		return false, nil
	}
	return err == nil, err
}

// Object names the object that has a key now, "" for none: one that replaces it has another name.
func Object(ctx context.Context, b *Bucket, key string) (string, error) {
	a, err := b.Attributes(ctx, key)
	if Missing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %d", a.ETag, a.ModTime.UnixNano(), a.Size), nil
}

// isNet reports whether the network has failed. An error of the file system is one of a volume, though its number calls
// itself the network's, too.
func isNet(err error) bool {
	var n net.Error
	var file *fs.PathError
	return errors.As(err, &n) && !errors.As(err, &file)
}
