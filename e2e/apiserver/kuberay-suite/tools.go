//go:build tools

// Package tools keeps KubeRay's own tests of autoscaling, of which e2e/setup-apiserver.sh makes a program, in go.mod.
package tools

import _ "github.com/ray-project/kuberay/ray-operator/test/e2eautoscaler"
