// The labels by which tenants are told apart in metrics: a bounded number of them.

/**
 * Each tenant is two series in each API process, which Prometheus keeps as long as it keeps anything. A
 * hundred shows who retries wildly; ten thousand would cost more than they tell.
 */
const TENANT_LABELS_MAX = 100

/** Of all tenants beyond the bound together. */
export const OTHER_TENANTS = 'other'

/** A function from a tenant's id to its label: the id for the first tenants that come, then `other`. */
export function createTenantLabels(max = TENANT_LABELS_MAX): (tenantId: string) => string {
  const known = new Set<string>()
  return (tenantId) => {
    if (known.has(tenantId)) return tenantId
    if (known.size >= max) return OTHER_TENANTS
    known.add(tenantId)
    return tenantId
  }
}
