"""The test bench of rayscaler: API servers, stand-ins and helpers for tests on real parts.

Reading order for authors of a scenario:

``paths``       where the program, the CRD, the caches and the work directories are
``wait``        ``wait_until(predicate, deadline_seconds, what)``: the only way to wait in a test
``processes``   ``Process``: start a program with a log, end it by its own process group
``kubeclient``  ``KubeClient``: the Kubernetes REST API in a few typed calls
``watchcache``  ``WatchCache``: a LIST and WATCH kept up to date by a thread
``kubeconfig``  files for the program under test: kubeconfig, in-cluster directory
``apiserver``   ``ApiServer``: etcd and kube-apiserver as child processes
``control_plane``  kube-controller-manager and kube-scheduler as well

Ray, and the parts of Kubernetes that the API server alone has not:

``kuberay_operator``  stand-in for KubeRay's operator; with ``kuberay_pod`` (the Pods it makes),
                      ``kuberay_status`` and ``kuberay_validate``
``kubelet``           stand-in for scheduler and kubelet; with ``pod_schedule``, ``pod_runner`` (one
                      Pod), ``pod_process`` (one container) and ``standin`` (shared by both)
``dra``               Nodes with devices and the programs that allocate them to claims; with ``nvidia_devices`` (their
                      form) and ``pod_devices`` (what a container sees of them)
``standins``          ``StandIns``: both as child processes
``ray_manifests``     RayClusters that run on them
``scenario``          ``Scenario``: one RayCluster with its head, its workers and Ray programs
``ray_program``       ``RayProgram`` (the driver ``ray_driver.py`` under a test's command) and
                      ``Witness`` (``gcs_witness.py``: Ray's own state, read all the time);
                      ``ray_train_run`` (the driver's run of Ray Train)
``recorder``          the changes of Pods and replicas, and the check that no busy worker ended
``program``           ``Controller``: the program under test
``prometheus``        ``Prometheus``: a real one that scrapes the program; ``promtool``
``dashboard``         the chart's Grafana dashboard, panel by panel; ``picture`` plots it
``relay``             ``HoldingRelay``: a connection that a test can hold up
``hostile``       tenants that attack the controller (a package)
``memory_limit``  a program within a memory cgroup
``kill_relay``        relays that end a process at a chosen moment of a chosen request
``kills``             kill -9 of the program over and over during one story

pytest fixtures built on these are in ``e2e/conftest.py`` and ``e2e/ray_fixtures.py``.
"""
