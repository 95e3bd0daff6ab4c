package main

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	rulesFile   = "prometheus-rules.yaml"
	rulesValue  = "metrics.prometheusRules."
	rulesSwitch = "$.Values." + rulesValue + "enabled"
)

// rules puts values in the place of what people set: labels of the object and of its alerts, where runbooks are, and
// which alerts are left out.
func (g *generator) rules(o object) error {
	g.label(o)["«more "+rulesValue+"labels»"] = nil
	groups, _ := o.at("spec", "groups").([]any)
	var runbooks string
	for _, group := range groups {
		list, _ := group.(map[string]any)["rules"].([]any)
		for _, r := range list {
			folder, err := alert(r.(map[string]any))
			if err != nil {
				return err
			}
			if runbooks != "" && folder != runbooks {
				return fmt.Errorf("runbooks are in %s and in %s", runbooks, folder)
			}
			runbooks = folder
		}
	}
	if err := g.value(rulesValue+"runbookURL", runbooks); err != nil {
		return err
	}
	if err := g.write(rulesFile, rulesSwitch, o); err != nil {
		return err
	}
	g.files[rulesFile] = disabling(g.files[rulesFile])
	return nil
}

// alert gives one rule the values of all, and returns the folder of its runbook.
func alert(rule map[string]any) (runbooks string, err error) {
	o, name := object(rule), rule["alert"]
	labels, _ := o.at("labels").(map[string]any)
	url, _ := o.at("annotations", "runbook_url").(string)
	page := fmt.Sprintf("/%s.md", name)
	if labels == nil || !strings.HasSuffix(url, page) {
		return "", fmt.Errorf("%s needs labels, and a runbook_url that ends with %s", name, page)
	}
	labels["«more "+rulesValue+"alertLabels»"] = nil
	runbooks = strings.TrimSuffix(url, page)
	return runbooks, o.set(expression("$.Values."+rulesValue+"runbookURL")+page, "annotations", "runbook_url")
}

var (
	groupText = regexp.MustCompile(`(?m)^  - name: .*\n(?:    .*\n)*`)
	alertText = regexp.MustCompile(`(?m)^    - alert: (\w+)\n(?:      .*\n)*`)
)

// disabling lets the value disabled leave out alerts, and groups of which nothing is left.
func disabling(text string) string {
	const left = "(has %q $.Values." + rulesValue + "disabled)"
	return groupText.ReplaceAllStringFunc(text, func(group string) string {
		none := ""
		group = alertText.ReplaceAllStringFunc(group, func(s string) string {
			is := fmt.Sprintf(left, alertText.FindStringSubmatch(s)[1])
			none += " " + is
			return "    {{- if not " + is + " }}\n" + s + "    {{- end }}\n"
		})
		return "  {{- if not (and" + none + ") }}\n" + group + "  {{- end }}\n"
	})
}
