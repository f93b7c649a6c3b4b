"""Tenants that attack the controller through their own objects and the Ray head in their Pods.

``replies``   messages of a forged GCS, as bytes
``heads``     ``HeadServer``: GCS servers over h2c that answer with them, stall or flood
``objects``   RayClusters and Pods of a tenant, on an API server or on the fleet's
``kinds``     the table of all attacks; ``attack`` runs one of them with so many tenants
``sizes``     those of each kind of object, each annotation and each page; ``surface`` says which there are
``fields``    objects with one hostile value in one field that is decoded
``bench``     the controller beside which samples of them run

Used by ``e2e/hostile.py``, ``e2e/hostile_fields.py`` (`make hostile`) and ``tests/test_hostile.py``.
"""
