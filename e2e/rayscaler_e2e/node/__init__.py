"""A real single-node Kubernetes in namespaces of its own: ``make node``, and the tests in e2e/node.

``machine``     namespaces, mounts and cgroups; programs started in them
``images``      container images, made without a container engine
``kubernetes``  the programs of Kubernetes on a machine, until the Node is Ready
``install``     KubeRay's operator and the product's chart
"""
