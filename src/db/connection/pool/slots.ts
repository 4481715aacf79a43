// The slots of a pool: each has a session, for one unit of work at a time. Work takes the first free one, so
// that work in sequence finds a warm session, or waits in line.
import type { Session } from './session.ts'

export interface Slot {
  session: Session
  /** The work that it has. */
  work: { readonly tenantId: string | undefined; readonly atMs: number } | undefined
}

interface Waiting {
  readonly tenantId: string | undefined
  readonly resolve: (slot: Slot) => void
}

/** One of two may wait for a lock or a silent server, and the other one still serves. */
const OF_TENANT_MIN = 2

export class Slots {
  readonly all: readonly Slot[]
  readonly #connect: () => Session
  readonly #waiting: Waiting[] = []
  /** The work of one tenant takes all slots but one, so that the work of another one finds one. */
  readonly #share: number
  #isClosed = false

  constructor(size: number, connect: () => Session) {
    this.#connect = connect
    this.all = Array.from({ length: size }, () => ({ session: connect(), work: undefined }))
    this.#share = Math.max(OF_TENANT_MIN, size - 1)
  }

  async acquire(tenantId: string | undefined): Promise<Slot> {
    const free = this.#mayUse(tenantId) && this.all.find(({ work }) => work === undefined)
    if (free) return this.#take(free, tenantId)
    return await new Promise((resolve) => this.#waiting.push({ tenantId, resolve }))
  }

  release(slot: Slot): void {
    slot.work = undefined
    const index = this.#waiting.findIndex(({ tenantId }) => this.#mayUse(tenantId))
    const [next] = index === -1 ? [] : this.#waiting.splice(index, 1)
    next?.resolve(this.#take(slot, next.tenantId))
  }

  /** Waits for the work, at most that many seconds. Later work is refused. */
  async end(options?: { timeout?: number }): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.all.map(({ session }) => session.end(options)))
  }

  #mayUse(tenantId: string | undefined): boolean {
    if (tenantId === undefined) return true
    return this.all.filter(({ work }) => work?.tenantId === tenantId).length < this.#share
  }

  #take(slot: Slot, tenantId: string | undefined): Slot {
    slot.work = { tenantId, atMs: performance.now() }
    if (slot.session.isOld) slot.session.lose()
    if (slot.session.isOver && !this.#isClosed) slot.session = this.#connect()
    return slot
  }
}
