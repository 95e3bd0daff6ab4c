package galerauser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/users"
)

// Keys of the Secret NAME-password.
const (
	keyPassword = "password"
	keyPrevious = "previous"
	keySince    = "since"
	keyRenewed  = "renewed"
)

// boundTo is what the binding Secret holds.
type boundTo struct {
	password string
	notAfter time.Time
}

// read returns a Secret of the user's, nil when there is none. One that belongs to something else is an error.
func (p *pass) read(ctx context.Context, name string) (*corev1.Secret, error) {
	s, err := p.secret(ctx, client.ObjectKey{Namespace: p.user.Namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !metav1.IsControlledBy(s, p.user) {
		err = ownership.ErrForeign{Kind: "Secret", Name: name}
	}
	return s, err
}

// write makes a Secret of the user's hold exactly this. It reports whether anything was to be changed.
func (p *pass) write(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte) (bool, error) {
	have, err := p.read(ctx, name)
	if err != nil {
		return false, err
	}
	if have == nil {
		s := &corev1.Secret{Type: kind, Data: data}
		s.Namespace, s.Name = p.user.Namespace, name
		s.Labels = map[string]string{v1alpha1.LabelCluster: p.cluster.Name, v1alpha1.LabelUser: p.user.Name}
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p.user,
			v1alpha1.GroupVersion.WithKind("GaleraUser"))}
		return true, p.wrote(s, p.Create(ctx, s, client.FieldOwner(ownership.FieldOwner)))
	}
	if maps.EqualFunc(have.Data, data, func(a, b []byte) bool { return string(a) == string(b) }) {
		return false, nil
	}
	changed := have.DeepCopy()
	changed.Data = data
	return true, p.wrote(changed, p.Patch(ctx, changed,
		client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}), client.FieldOwner(ownership.FieldOwner)))
}

// wrote notes the version of a Secret that was written. After a failure nothing is known of it.
func (p *pass) wrote(s *corev1.Secret, err error) error {
	if err != nil {
		p.current.forget(client.ObjectKeyFromObject(s))
		return err
	}
	p.current.set(client.ObjectKeyFromObject(s), s.ResourceVersion)
	return nil
}

// foreignSecret returns the blocking reason for a Secret that belongs to something else.
func (p *pass) foreignSecret(err error) error {
	var foreign ownership.ErrForeign
	if !errors.As(err, &foreign) {
		return err
	}
	p.blocker = clusterref.Blocker{Reason: v1alpha1.ReasonNameTaken, Message: foreign.Error(),
		RetryAfter: clusterref.RefusedInterval}
	return nil
}

func (p *pass) readBinding(ctx context.Context) (*boundTo, error) {
	s, err := p.read(ctx, p.user.BindingName())
	if s == nil || err != nil {
		return nil, err
	}
	b := &boundTo{password: string(s.Data["password"])}
	if leaf := pki.Parse(s.Data[corev1.TLSCertKey]); len(leaf) > 0 {
		b.notAfter = leaf[0].NotAfter
	}
	p.bound = b
	return b, nil
}

// passwords decides the next step of the password's life, and writes it down if there is one.
func (p *pass) passwords(ctx context.Context, bound *boundTo) (written bool, err error) {
	spec := p.user.Spec.Authentication
	if spec.None {
		return false, nil
	}
	name := passwordName(p.user)
	s, err := p.read(ctx, name)
	if err != nil {
		return false, err
	}
	ask := users.Asked{Token: renewal(p.user), Fresh: fresh, Overlap: time.Hour, Now: p.now}
	if spec.Overlap != nil {
		ask.Overlap = spec.Overlap.Duration
	}
	if bound != nil {
		ask.Published = bound.password
	}
	if s != nil {
		since, _ := time.Parse(time.RFC3339, string(s.Data[keySince]))
		ask.Have = &users.Passwords{Password: string(s.Data[keyPassword]), Previous: string(s.Data[keyPrevious]),
			Since: since, Renewed: string(s.Data[keyRenewed])}
	}
	if ref := spec.PasswordSecretRef; ref != nil {
		if ask.Given, p.missingPassword, err = p.readPassword(ctx, *ref); err != nil {
			return false, err
		}
		if p.missingPassword != "" && s == nil {
			p.blocker = clusterref.Blocker{Reason: v1alpha1.ReasonPasswordMissing, Message: p.missingPassword,
				RetryAfter: passwordReadInterval}
			return false, nil
		}
		if p.missingPassword != "" {
			ask.Given = ask.Have.Password // what the account has stays
		}
	}
	r, err := users.Rotate(ask)
	if err != nil {
		return false, err
	}
	p.rotation = &r
	if !r.Write {
		return false, nil
	}
	data := map[string][]byte{keyPassword: []byte(r.Password)}
	put := func(key, value string) {
		if value != "" {
			data[key] = []byte(value)
		}
	}
	put(keyPrevious, r.Previous)
	put(keyRenewed, r.Renewed)
	if !r.Since.IsZero() {
		put(keySince, r.Since.UTC().Format(time.RFC3339))
	}
	return p.write(ctx, name, corev1.SecretTypeOpaque, data)
}

// passwordName is the name of the Secret that keeps a user's passwords.
func passwordName(u *v1alpha1.GaleraUser) string { return u.Name + "-password" }

// readPassword reads the password of a person's Secret.
func (p *pass) readPassword(ctx context.Context, ref v1alpha1.PasswordKey) (password, missing string, err error) {
	s := &corev1.Secret{}
	err = p.Live.Get(ctx, client.ObjectKey{Namespace: p.user.Namespace, Name: ref.Name}, s)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Sprintf("there is no Secret %q in this namespace: create it with the key %s", ref.Name, ref.Key), nil
	case err != nil:
		return "", "", err
	case s.Labels[v1alpha1.LabelCluster] != "" && !exporters(p.cluster, p.user, s):
		return "", fmt.Sprintf("the Secret %q belongs to the cluster %q: name another one", ref.Name,
			s.Labels[v1alpha1.LabelCluster]), nil
	}
	password = agentapi.RootPassword(s.Data[ref.Key])
	if password == "" {
		return "", fmt.Sprintf("the Secret %q has no key %q, or an empty one: put the password there", ref.Name,
			ref.Key), nil
	}
	return password, "", nil
}

// exporters reports whether a Secret is what the cluster has made for its mysqld_exporter, and the user that one's
// account, made by it, too. No other user is given a Secret of a cluster.
func exporters(c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser, s *corev1.Secret) bool {
	name := resources.ExporterName(c)
	return u.Name == name && s.Name == name && metav1.IsControlledBy(u, c) && metav1.IsControlledBy(s, c)
}

// renewal is the token of the annotation that asks for another password, "" for none.
func renewal(u *v1alpha1.GaleraUser) string {
	for _, one := range strings.Split(u.Annotations[v1alpha1.AnnotationRenew], ",") {
		if token, ok := strings.CutPrefix(strings.TrimSpace(one), "password@"); ok {
			return token
		}
	}
	return ""
}

// fresh makes a password of 26 letters and digits: 128 random bits, and nothing that needs quoting anywhere.
func fresh() (string, error) { return rand.Text(), nil }

// bind gives the application all that it needs.
func (p *pass) bind(ctx context.Context, pair *corev1.Secret) (bool, error) {
	login := users.Login{Proxy: p.proxyHost}
	if p.rotation != nil {
		login.Password = p.rotation.Password
	}
	ca := &corev1.ConfigMap{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.cluster.Namespace, Name: resources.CAConfigMapName(p.cluster)},
		ca)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	login.CA = []byte(ca.Data[resources.CAKey])
	login.Cert, login.Key, _ = observe.PairOf(pair)
	data := users.Binding(p.cluster, p.user, login)
	changed, err := p.write(ctx, p.user.BindingName(), users.BindingType, data)
	if err != nil {
		return false, err
	}
	p.bound = &boundTo{password: login.Password}
	if leaf := pki.Parse(login.Cert); len(leaf) > 0 {
		p.bound.notAfter = leaf[0].NotAfter
	}
	return changed, nil
}

// refused returns what a user asks for and cannot have.
func refused(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster) clusterref.Blocker {
	if users.LacksTLS(u, c) {
		return clusterref.Blocker{Reason: v1alpha1.ReasonTLSUnavailable, RetryAfter: clusterref.ResyncPeriod,
			Message: "the cluster offers clients no TLS (spec.tls.clients: Disabled): set it to Preferred or Required, or " +
				"spec.require of this user to None, with another spec.endpoint than Proxy"}
	}
	if why := users.Overreach(u, c.Namespace); why != "" {
		return clusterref.Blocker{Reason: v1alpha1.ReasonGrantNotAllowed, Message: why,
			RetryAfter: clusterref.RefusedInterval}
	}
	return clusterref.Blocker{}
}
