package main

import "fmt"

// deployment puts values in the place of what people set; everything else stays as config/ has it.
func (g *generator) deployment(o object) error {
	pod := []string{"spec", "template", "spec"}
	container := append(append([]string{}, pod...), "containers", "name=manager")
	under := func(parent []string, key string) []string { return append(append([]string{}, parent...), key) }

	image, _ := o.at(under(container, "image")...).(string)
	name, tag, err := splitImage(image)
	if err != nil {
		return err
	}
	// A value, the path in config/ that decides its default, and what stands there instead.
	for _, v := range []struct {
		value, with string
		path        []string
	}{
		{"replicas", expression("int $.Values.replicas"), []string{"spec", "replicas"}},
		{"podSecurityContext", block("podSecurityContext"), under(pod, "securityContext")},
		{"tolerations", block("tolerations"), under(pod, "tolerations")},
		{"topologySpreadConstraints", block("topologySpreadConstraints"), under(pod, "topologySpreadConstraints")},
		{"resources", block("resources"), under(container, "resources")},
		{"securityContext", block("securityContext"), under(container, "securityContext")},
		{"image.pullPolicy", expression("$.Values.image.pullPolicy"), under(container, "imagePullPolicy")},
	} {
		if err := g.value(v.value, o.at(v.path...)); err != nil {
			return err
		}
		if err := o.set(v.with, v.path...); err != nil {
			return err
		}
	}
	g.defaults["image.repository"], g.defaults[appVersion] = name, tag
	if err := g.environment(o, container); err != nil {
		return err
	}
	args, _ := o.at(under(container, "args")...).([]any)
	for path, with := range map[string]any{"image": expression(`include "galera-operator.image" $`),
		"args": append(args, "«lines galera-operator.args»")} {
		if err := o.set(with, under(container, path)...); err != nil {
			return err
		}
	}
	spec := o.at(pod...).(map[string]any)
	spec["serviceAccountName"] = expression(serviceAccountName)
	for _, key := range []string{"affinity", "nodeSelector", "imagePullSecrets", "priorityClassName"} {
		spec[key] = block(key)
	}
	template := o.at("spec", "template", "metadata")
	labels, ok := template.(map[string]any)["labels"].(map[string]any)
	if !ok {
		return fmt.Errorf("the pod has no labels")
	}
	labels["«more podLabels»"] = nil
	annotations, ok := template.(map[string]any)["annotations"].(map[string]any)
	if !ok {
		return fmt.Errorf("the pod has no annotations")
	}
	annotations["«more podAnnotations»"] = nil
	return g.write("deployment.yaml", "", o)
}

// benchmarks is the Deployment of the benchmarks' program. What decides how and where the operator's pods run decides
// it for this one, too.
func (g *generator) benchmarks(o object) error {
	pod := []string{"spec", "template", "spec"}
	container := append(append([]string{}, pod...), "containers", "name=benchmarks")
	in := func(parent []string, keys ...string) []string { return append(append([]string{}, parent...), keys...) }
	for value, path := range map[string][]string{
		"benchmarks.resources": in(container, "resources"),
		"benchmarkImage":       in(container, "env", "name=BENCHMARK_IMAGE", "value"),
	} {
		if err := g.value(value, o.at(path...)); err != nil {
			return err
		}
	}
	args, _ := o.at(in(container, "args")...).([]any)
	for _, s := range []struct {
		with any
		path []string
	}{
		{expression(`include "galera-operator.image" $`), in(container, "image")},
		{expression("$.Values.image.pullPolicy"), in(container, "imagePullPolicy")},
		{append(args, "«lines galera-operator.benchmarksArgs»"), in(container, "args")},
		{block("benchmarks.resources"), in(container, "resources")},
		{block("securityContext"), in(container, "securityContext")},
		{block("podSecurityContext"), in(pod, "securityContext")},
		{expression(`include "galera-operator.image" $ | quote`), in(container, "env", "name=OPERATOR_IMAGE", "value")},
		{expression(`include "galera-operator.mirrored" (list $ $.Values.benchmarkImage) | quote`),
			in(container, "env", "name=BENCHMARK_IMAGE", "value")},
	} {
		if err := o.set(s.with, s.path...); err != nil {
			return err
		}
	}
	spec := o.at(pod...).(map[string]any)
	for _, key := range []string{"nodeSelector", "tolerations", "imagePullSecrets", "priorityClassName"} {
		spec[key] = block(key)
	}
	o.at("spec", "template", "metadata", "labels").(map[string]any)["«more podLabels»"] = nil
	return g.write("benchmarks.yaml", benchmarksOn, o)
}

// environment replaces the images that the operator hands on.
func (g *generator) environment(o object, container []string) error {
	env := append(append([]string{}, container...), "env")
	for variable, value := range map[string]string{"DEFAULT_IMAGE": "databaseImage", "OPERATOR_IMAGE": ""} {
		path := append(append([]string{}, env...), "name="+variable, "value")
		was := o.at(path...)
		with := expression(`include "galera-operator.image" $ | quote`)
		if value != "" {
			if err := g.value(value, was); err != nil {
				return err
			}
			with = expression(`include "galera-operator.mirrored" (list $ $.Values.` + value + `) | quote`)
		}
		if err := o.set(with, path...); err != nil {
			return fmt.Errorf("the variable %s: %w", variable, err)
		}
	}
	list, _ := o.at(env...).([]any)
	return o.set(append(list, "«items extraEnv»"), env...)
}
