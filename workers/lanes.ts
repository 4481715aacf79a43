// Counts the jobs in progress by tenant and by lane, and decides how many more jobs a lane may
// have: the places of this process belong to all tenants, and a hanging receiver keeps only one.

/** Who a job is for: its tenant, and its tenant's receiver. */
export interface LaneRef {
  readonly tenant: string
  readonly lane: string
}

interface Lane {
  /** When each job in progress began. */
  readonly begunMs: number[]
  /** How many jobs of the lane may be in progress. */
  window: number
}

export interface LaneLimits {
  /** How many jobs of a lane may be in progress before one of them has ended soon. */
  readonly initialWindow: number
  /** A job that takes longer sets its lane back to one job at a time. */
  readonly slowMs: number
}

export class Lanes {
  readonly #limits: LaneLimits
  readonly #tenants = new Map<string, number>()
  readonly #lanes = new Map<string, Lane>()

  constructor(limits: LaneLimits) {
    this.#limits = limits
  }

  get busyTenants(): string[] {
    return [...this.#tenants.keys()]
  }

  get busyLanes(): string[] {
    return this.#lanesWhere(({ begunMs }) => begunMs.length > 0)
  }

  /** The lanes that may have no more jobs: they have enough, or one of theirs is slow. */
  fullLanes(nowMs: number): string[] {
    return this.#lanesWhere(
      ({ begunMs, window }) => begunMs.length >= window || this.#countSlow(begunMs, nowMs) > 0,
    )
  }

  begin({ tenant, lane }: LaneRef, nowMs: number): void {
    this.#tenants.set(tenant, (this.#tenants.get(tenant) ?? 0) + 1)
    const counted = this.#lanes.get(lane) ?? { begunMs: [], window: this.#limits.initialWindow }
    counted.begunMs.push(nowMs)
    this.#lanes.set(lane, counted)
  }

  /** A receiver that answers soon gets one more job at a time; one that does not, gets only one. */
  end({ tenant, lane }: LaneRef, begunMs: number, nowMs: number): void {
    const ofTenant = (this.#tenants.get(tenant) ?? 1) - 1
    if (ofTenant === 0) this.#tenants.delete(tenant)
    else this.#tenants.set(tenant, ofTenant)
    const counted = this.#lanes.get(lane)
    if (counted === undefined) return
    counted.begunMs.splice(counted.begunMs.indexOf(begunMs), 1)
    counted.window = this.#isSlow(begunMs, nowMs) ? 1 : counted.window + 1
  }

  /**
   * Counts the slow jobs beyond one of each lane. Their receiver answered soon until now, and then
   * began to hang.
   */
  countHanging(nowMs: number): number {
    let hanging = 0
    for (const { begunMs } of this.#lanes.values())
      hanging += Math.max(0, this.#countSlow(begunMs, nowMs) - 1)
    return hanging
  }

  /** Forgets the lanes without jobs: nothing is waiting for them. */
  forgetIdle(): void {
    for (const [lane, { begunMs }] of this.#lanes)
      if (begunMs.length === 0) this.#lanes.delete(lane)
  }

  #countSlow(begunMs: readonly number[], nowMs: number): number {
    return begunMs.filter((begun) => this.#isSlow(begun, nowMs)).length
  }

  #isSlow(begunMs: number, nowMs: number): boolean {
    return nowMs - begunMs > this.#limits.slowMs
  }

  #lanesWhere(condition: (lane: Lane) => boolean): string[] {
    return [...this.#lanes].filter(([, lane]) => condition(lane)).map(([name]) => name)
  }
}
