"""The test bench of rayscaler: API servers, stand-ins and helpers for tests on real parts.

Reading order for somebody who writes a scenario:

``paths``       where the program, the CRD, the caches and the work directories are
``wait``        ``wait_until(predicate, deadline_seconds, what)``: the only way to wait in a test
``processes``   ``Process``: start a program with a log, end it by its own process group
``kubeclient``  ``KubeClient``: the Kubernetes REST API in a few typed calls
``watchcache``  ``WatchCache``: a LIST and WATCH kept up to date by a thread
``kubeconfig``  files for the program under test: kubeconfig, in-cluster directory
``apiserver``   ``ApiServer`` and ``start_api_server("real" | "embedded", work_dir)``
``real``        etcd and kube-apiserver as child processes
``embedded``    the in-memory API server (a package, run as a child process as well)

pytest fixtures built on these are in ``e2e/conftest.py``.
"""
