// Creates the tenant labels of metrics, and limits their number.

/**
 * Each tenant adds three series per API process, which Prometheus keeps for its whole retention
 * period. A hundred tenants show who retries too often; ten thousand would cost more than they are
 * worth.
 */
const TENANT_LABELS_MAX = 100

/** The label of all tenants beyond the limit. */
const OTHER_TENANTS = 'other'

/**
 * Returns a function from a tenant's id to its label: the id for the first tenants, then `other`.
 */
export function createTenantLabels(max = TENANT_LABELS_MAX): (tenantId: string) => string {
  const known = new Set<string>()
  return (tenantId) => {
    if (known.has(tenantId)) return tenantId
    if (known.size >= max) return OTHER_TENANTS
    known.add(tenantId)
    return tenantId
  }
}
