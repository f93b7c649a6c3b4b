"""Our canonical order of requests.

Ray sorts requests and leaves ties in the order in which the GCS sent them, which is that of a hash
map. rayscaler breaks ties by content. For an exact comparison Ray gets its requests in our order,
and the bundles of a placement group likewise. Placement groups keep the order of the list: both
sort them stably.
"""

OPERATORS = {"LABEL_OPERATOR_IN": 1, "LABEL_OPERATOR_NOT_IN": 2}


def amount(value):
    """1/10000 units, rounded to nearest, halves away from zero."""
    return int(value * 10000 + 0.5)


class Order:
    def __init__(self, state):
        self.pairs, self.affinities = set(), set()
        for request in self.all_requests(state):
            self.collect(request)
        self.pair_place = {p: i for i, p in enumerate(sorted(self.pairs))}
        self.affinity_place = {p: i for i, p in enumerate(sorted(self.affinities))}

    @staticmethod
    def all_requests(state):
        for constraint in state.get("clusterResourceConstraints", []):
            for counted in constraint["resourceRequests"]:
                yield counted["request"]
        for gang in state.get("pendingGangResourceRequests", []):
            yield from gang.get("requests", [])
            for selector in gang.get("bundleSelectors", []):
                yield from selector["resourceRequests"]
        for counted in state.get("pendingResourceRequests", []):
            yield counted["request"]

    @staticmethod
    def pair(label):
        return (label["labelName"].encode(), label["labelValue"].encode())

    def collect(self, request):
        for placement in request.get("placementConstraints", []):
            if "antiAffinity" in placement:
                self.pairs.add(self.pair(placement["antiAffinity"]))
            if "affinity" in placement:
                self.affinities.add(self.pair(placement["affinity"]))
        for selector in request.get("labelSelectors", []):
            for constraint in selector["labelConstraints"]:
                for value in constraint["labelValues"]:
                    self.pairs.add((constraint["labelKey"].encode(), value.encode()))

    def content(self, request):
        placements = request.get("placementConstraints", [])
        numbers = [len(placements)]
        for p in placements:
            anti, affinity = p.get("antiAffinity"), p.get("affinity")
            numbers.append(1 + self.pair_place[self.pair(anti)] if anti else 0)
            numbers.append(1 + self.affinity_place[self.pair(affinity)] if affinity else 0)
        numbers.append(len(request.get("labelSelectors", [])))
        for selector in request.get("labelSelectors", []):
            numbers.append(len(selector["labelConstraints"]))
            for constraint in selector["labelConstraints"]:
                key = constraint["labelKey"].encode()
                places = {self.pair_place[(key, v.encode())] for v in constraint["labelValues"]}
                numbers += [OPERATORS.get(constraint["operator"], 0), len(places)]
                numbers += sorted(places)
        return numbers + [0, 0]

    def key(self, request):
        """Larger is tried first."""
        selectors = request.get("labelSelectors", [])
        items = sorted((k, amount(v)) for k, v in request["resourcesBundle"].items())
        return (
            len(request.get("placementConstraints", [])),
            len(selectors[0]["labelConstraints"]) if selectors else 0,
            len(items),
            sum(v for _, v in items),
            items,
            self.content(request),
        )


def canonical(state):
    """A copy of the state with its requests in our order."""
    order = Order(state)

    def by_request(counted):
        return order.key(counted["request"])

    def gang(value):
        """Bundles that tie are tried in the order of the message."""
        copy = dict(value)
        if "requests" in copy:
            copy["requests"] = sorted(copy["requests"], key=order.key, reverse=True)
        if "bundleSelectors" in copy:
            copy["bundleSelectors"] = [
                {"resourceRequests": sorted(s["resourceRequests"], key=order.key, reverse=True)}
                for s in copy["bundleSelectors"]
            ]
        return copy

    return {
        "pendingResourceRequests": sorted(
            state.get("pendingResourceRequests", []), key=by_request, reverse=True
        ),
        "pendingGangResourceRequests": [
            gang(g) for g in state.get("pendingGangResourceRequests", [])
        ],
        "clusterResourceConstraints": [
            {"resourceRequests": sorted(c["resourceRequests"], key=by_request, reverse=True)}
            for c in state.get("clusterResourceConstraints", [])
        ],
    }
