// Counts the operations that a process runs, by tenant: their next phases may be recorded together.

export class RunningOperations {
  readonly #counts = new Map<string, number>()

  ofTenant(tenantId: string): number {
    return this.#counts.get(tenantId) ?? 0
  }

  /** Counts an operation of the tenant while the work takes. */
  async during<Result>(tenantId: string, work: () => Promise<Result>): Promise<Result> {
    this.#counts.set(tenantId, this.ofTenant(tenantId) + 1)
    try {
      return await work()
    } finally {
      const left = this.ofTenant(tenantId) - 1
      if (left === 0) this.#counts.delete(tenantId)
      else this.#counts.set(tenantId, left)
    }
  }
}
