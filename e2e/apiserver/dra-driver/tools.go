//go:build tools

// Package tools keeps kubernetes-sigs' example of a DRA driver, which e2e/setup-apiserver.sh builds, in go.mod. Its own
// go.mod asks for versions of Kubernetes' modules that are not published everywhere.
package tools

import _ "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin"
