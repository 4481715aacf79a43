// Chooses the tenants that metrics name, and limits their number.

/**
 * Each tenant adds three series per API process, which Prometheus keeps for its whole retention
 * period. A hundred tenants show who retries too often; ten thousand would cost more than they are
 * worth.
 */
const TENANT_LABELS_MAX = 100

/** How many tenants are weighed: enough that a heavy one stays known among many light ones. */
const WEIGHED_MAX = 1_000

/** After so many requests all weights are halved, so that the heaviest of lately are named. */
const HALVED_AFTER = 100_000

/** A tenant must be clearly heavier than the lightest named one: each change ends a series. */
const HEAVIER = { times: 2, plus: 10 }

/** The label of all tenants that are not named. */
const OTHER_TENANTS = 'other'

/**
 * Returns a function from a tenant's id to its label: the id, for the tenants with the most requests
 * lately, otherwise `other`. Counts each call as a request. The tenants to weigh are
 * chosen as in the Space-Saving algorithm of Metwally et al. (2005).
 *
 * @param forget is called with the label of a tenant that is named no more.
 */
export function createTenantLabels(forget: (label: string) => void): (tenantId: string) => string {
  const weights = new Map<string, number>()
  const named = new Set<string>()
  let requests = 0

  const weigh = (id: string): number => {
    let weight = weights.get(id)
    if (weight === undefined && weights.size >= WEIGHED_MAX) {
      const light = lightest(weights.keys(), weights)
      weight = weights.get(light)
      weights.delete(light)
      if (named.delete(light)) forget(light)
    }
    weights.set(id, (weight ?? 0) + 1)
    return (weight ?? 0) + 1
  }
  return (id) => {
    requests += 1
    if (requests % HALVED_AFTER === 0)
      for (const [of, weight] of weights) weights.set(of, weight / 2)
    const weight = weigh(id)
    if (named.has(id)) return id
    if (named.size >= TENANT_LABELS_MAX) {
      const light = lightest(named, weights)
      if (weight <= HEAVIER.times * (weights.get(light) ?? 0) + HEAVIER.plus) return OTHER_TENANTS
      named.delete(light)
      forget(light)
    }
    named.add(id)
    return id
  }
}

function lightest(ids: Iterable<string>, weights: ReadonlyMap<string, number>): string {
  let [found, least] = ['', Infinity]
  for (const id of ids) {
    const weight = weights.get(id) ?? 0
    if (weight < least) [found, least] = [id, weight]
  }
  return found
}
