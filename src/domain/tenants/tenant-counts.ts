// Counts what tenants use of something that they share.

export interface Counts {
  all(): number
  of(tenantId: string): number
  add(tenantId: string | undefined, change: 1 | -1): void
}

/** What belongs to no tenant yet is counted only in `all`. */
export function createCounts(): Counts {
  const counts = new Map<string, number>()
  let all = 0
  const of = (tenantId: string) => counts.get(tenantId) ?? 0
  return {
    all: () => all,
    of,
    add(tenantId, change) {
      all += change
      if (tenantId === undefined) return
      const count = of(tenantId) + change
      if (count === 0) counts.delete(tenantId)
      else counts.set(tenantId, count)
    },
  }
}

/** The share of one tenant, which is one at least, unless there is nothing. */
export function shareOf(all: number): number {
  return Math.ceil(all / 2)
}
