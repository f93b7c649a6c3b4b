"""Our canonical order of requests and gangs.

Ray sorts requests and gangs and leaves ties in the order in which the GCS sent them, which is
that of a hash map. rayscaler breaks ties by content. For an exact comparison Ray gets its lists
in our order; nothing else is changed.
"""

OPERATORS = {"LABEL_OPERATOR_IN": 1, "LABEL_OPERATOR_NOT_IN": 2}


def amount(value):
    """1/10000 units, rounded to nearest, halves away from zero."""
    return int(value * 10000 + 0.5)


def gang_requests(gang):
    if gang.get("bundleSelectors"):
        return gang["bundleSelectors"][0].get("resourceRequests", [])
    return gang.get("requests", [])


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

    def combined(self, gang):
        """What utils.combine_requests_with_affinity makes of it, in exact amounts."""
        plain, packs = [], {}
        for request in gang_requests(gang):
            placements = request.get("placementConstraints", [])
            if not placements or "affinity" not in placements[0]:
                plain.append(request)
                continue
            key = str(self.content(request))
            if key not in packs:
                packs[key] = dict(request, resourcesBundle={})
            bundle = packs[key]["resourcesBundle"]
            for name, value in request["resourcesBundle"].items():
                bundle[name] = (amount(bundle.get(name, 0)) + amount(value)) / 10000
        return plain + list(packs.values())

    def gang_key(self, gang):
        legacy = gang.get("requests", [])
        counts = {}
        for request in self.combined(gang):
            key = self.key(request)
            counts.setdefault(repr(key), [key, 0])[1] += 1
        shapes = sorted(((key, count) for key, count in counts.values()), reverse=True)
        placements = sum(len(r.get("placementConstraints", [])) for r in legacy)
        return (placements, len(legacy), shapes, gang.get("details", ""))


def canonical(state):
    """A copy of the state with its lists in our order."""
    order = Order(state)

    def by_request(counted):
        return order.key(counted["request"])

    gangs = state.get("pendingGangResourceRequests", [])
    places = sorted(range(len(gangs)), key=lambda i: order.gang_key(gangs[i]), reverse=True)

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
        "pendingGangResourceRequests": [gang(gangs[i]) for i in places],
        "clusterResourceConstraints": [
            {"resourceRequests": sorted(c["resourceRequests"], key=by_request, reverse=True)}
            for c in state.get("clusterResourceConstraints", [])
        ],
    }
