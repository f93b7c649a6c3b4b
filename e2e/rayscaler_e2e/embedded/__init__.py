"""An in-memory API server for quick runs, the demo and machines without Go.

It runs as a process of its own (``python -m rayscaler_e2e.embedded``, started by ``launch``), over
TLS, with RBAC, and answers as kube-apiserver does wherever this project looks; it must never be
kinder. ``tests/test_apiserver_parity.py`` sends the same requests to both and compares.

    __main__   arguments, start, end            launch     start it from a test
    server     HTTP: connections, bodies, watch streams
    auth       the user of a request            rbac       the user's rights
    api        paths to resources and verbs     discovery  /api, /apis, /version
    verbs      get, list, create, update, patch, delete
    watch      the stream of changes            store      objects, versions, history, journal
    table      the output of kubectl
    registry   the resources that are served    meta       metadata: names, labels, generations
    schema     OpenAPI of CRDs: prune, default, validate
    pods, kinds  rules of single kinds          patch      JSON, merge and strategic merge patch
    selectors  labels and fields                errors     Status objects

Left out, and refused rather than faked: server-side apply, protobuf and CBOR, CEL rules,
conversion webhooks, admission webhooks, quota. Nothing is garbage collected by owner, as on the
real server without its controller-manager.
"""
