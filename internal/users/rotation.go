package users

import (
	"time"
)

// Passwords is what a user's Secret NAME-password holds: the password, the one before it as long as that is accepted,
// and which request of the annotation it was made for. It is written before the account is changed.
type Passwords struct {
	Password string
	Previous string
	// Since is when the binding Secret was seen to hold Password while Previous was still accepted; zero before.
	Since time.Time
	// Renewed is the last token of the annotation that has taken effect.
	Renewed string
}

// Asked is what a rotation is decided from.
type Asked struct {
	// Have is what the Secret holds, nil when there is none.
	Have *Passwords
	// Published is the binding Secret's password, "" when there is none.
	Published string
	// Given is the password of the person's Secret, "" when the operator makes it; Token that of the annotation, "" for
	// none.
	Given, Token string
	// Fresh makes a password.
	Fresh   func() (string, error)
	Overlap time.Duration
	Now     time.Time
}

// Rotation is what to do next.
type Rotation struct {
	Passwords
	// Write reports whether the Secret is to hold Passwords before anything else is done.
	Write bool
	// Waiting reports whether another password waits until the one before the present one is no longer accepted. It is
	// next when that has just ended.
	Waiting bool
	// Until is when Previous is no longer accepted; zero while that is not known, or when there is none.
	Until time.Time
}

// Accepted are the passwords of the account: the published one first, because some drivers get in with the first one
// only.
func (r Rotation) Accepted(published string) []string {
	switch {
	case r.Previous == "":
		return []string{r.Password}
	case published == r.Previous:
		return []string{r.Previous, r.Password}
	}
	return []string{r.Password, r.Previous}
}

// Rotate decides the next step of a password's life. The one that applications have, which is the published one, is
// accepted at every moment, whatever is asked for and wherever the operator was killed.
func Rotate(a Asked) (r Rotation, err error) {
	if a.Have == nil {
		return begin(a)
	}
	r.Passwords = *a.Have
	published := a.Published == r.Password
	asked := a.Given != "" && a.Given != r.Password || a.Given == "" && a.Token != "" && a.Token != r.Renewed
	if r.Previous != "" && published {
		if r.Since.IsZero() {
			// Kept in whole seconds, and never earlier than it was.
			r.Since, r.Write = a.Now.Add(time.Second).Truncate(time.Second), true
			r.Until, r.Waiting = r.Since.Add(a.Overlap), asked
			return r, nil
		}
		r.Until = r.Since.Add(a.Overlap)
		if !a.Now.Before(r.Until) {
			r.Previous, r.Since, r.Until, r.Write, r.Waiting = "", time.Time{}, time.Time{}, true, asked
			return r, nil
		}
	}
	switch {
	case !asked:
		return r, nil
	case r.Previous != "" && published:
		r.Waiting = true // a third password would shut out who has the first
		return r, nil
	}
	next := a.Given
	if next == "" {
		if next, err = a.Fresh(); err != nil {
			return r, err
		}
		r.Renewed = a.Token
	}
	// What applications have is kept: the password itself, or, while that was never published, the one before it.
	if published {
		r.Previous = r.Password
	}
	if r.Previous == next {
		r.Previous = "" // back to what applications have
	}
	r.Password, r.Since, r.Write = next, time.Time{}, true
	return r, nil
}

// begin makes the first password, or another one when the Secret was deleted: what applications have stays accepted
// meanwhile.
func begin(a Asked) (r Rotation, err error) {
	r.Password, r.Renewed, r.Write = a.Given, a.Token, true
	if r.Password == "" {
		if r.Password, err = a.Fresh(); err != nil {
			return r, err
		}
	}
	if a.Published != r.Password {
		r.Previous = a.Published
	}
	return r, nil
}
