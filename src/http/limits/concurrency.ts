// Limits how many requests are worked on at a time, and how many of them one tenant may have. Refuses
// more requests at once, with a Retry-After: a growing queue would delay every answer until all
// clients time out.
import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { ANSWERED, GOES_ON } from '../responses/answer.ts'
import { createCounts, shareOf } from '../../domain/tenants/tenant-counts.ts'

/** Health checks are never refused: a busy process must not look dead to its orchestrator. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/**
 * The sender of a provider event is unknown until the whole event has arrived and its signature is
 * verified. Such requests get one slot in ten; the provider retries refused events. So do log-ins to
 * the console.
 */
const PLACES_PER_UNVERIFIED = 10

export interface Slots {
  /**
   * Takes a slot for the request until it is answered or its client disconnects.
   *
   * @param isUnverified whether the sender is unknown until the whole body is read.
   * @throws ProblemError overloaded.
   */
  take(request: Request, response: Response, isUnverified?: boolean): void
  /**
   * Names the tenant of a request that has a slot, once it is known.
   *
   * @throws ProblemError too-many-concurrent-requests when the tenant has half of all slots.
   */
  assign(request: IncomingMessage, tenantId: string): void
  /**
   * Reads the rest of a request that is still arriving. When more senders are unknown than have slots,
   * the oldest that is arriving is refused: its `read` must fail with the reason of the signal. An
   * honest sender's body has arrived long before that.
   */
  whileArriving<Value>(
    request: IncomingMessage,
    read: (refused?: AbortSignal) => Promise<Value>,
  ): Promise<Value>
}

interface Slot {
  readonly isUnverified: boolean
  /** Undefined until the request is authenticated. */
  tenantId: string | undefined
  /** After the answer, a disconnect or a refusal. */
  isEnded: boolean
}

/**
 * @param most how many requests may be worked on. A request that waits for the result of its
 *   operation needs only a little memory and is not counted; a separate limit applies to waiting
 *   requests.
 * @param waiting returns how many requests wait now; of one tenant, if it is named.
 */
export function createSlots(most: number, waiting: (tenantId?: string) => number): Slots {
  const mostUnverified = Math.ceil(most / PLACES_PER_UNVERIFIED)
  const slots = new WeakMap<IncomingMessage, Slot>()
  const inUse = createCounts()
  /** How to refuse each unverified request that is arriving; the oldest comes first. */
  const arriving = new Map<Slot, () => void>()
  let unverified = 0

  const count = ({ isUnverified, tenantId }: Slot, change: 1 | -1): void => {
    inUse.add(tenantId, change)
    if (isUnverified) unverified += change
  }
  const end = (slot: Slot): void => {
    if (!slot.isEnded) count(slot, -1)
    slot.isEnded = true
  }
  return {
    take(request, response, isUnverified = false) {
      const [refuseOldest] = arriving.values()
      if (isUnverified && unverified >= mostUnverified) refuseOldest?.()
      const isFull =
        inUse.all() - waiting() >= most || (isUnverified && unverified >= mostUnverified)
      if (isFull) throw new ProblemError('overloaded')
      const slot: Slot = { isUnverified, tenantId: undefined, isEnded: false }
      count(slot, 1)
      slots.set(request, slot)
      const endOnce = () => {
        response.off(ANSWERED, endOnce).off(GOES_ON, endOnce).off('close', endOnce)
        end(slot)
      }
      // Not `finish`: a client that never reads its answer would keep the slot forever.
      response.once(ANSWERED, endOnce).once(GOES_ON, endOnce).once('close', endOnce)
    },
    assign(request, tenantId) {
      const slot = slots.get(request)
      if (slot === undefined || slot.isEnded) return
      if (inUse.of(tenantId) - waiting(tenantId) >= shareOf(most)) {
        throw new ProblemError('too-many-concurrent-requests')
      }
      count(slot, -1)
      slot.tenantId = tenantId
      count(slot, 1)
    },
    async whileArriving(request, read) {
      const slot = slots.get(request)
      if (slot?.isUnverified !== true) return await read()
      const refusal = new AbortController()
      arriving.set(slot, () => {
        arriving.delete(slot)
        end(slot)
        refusal.abort(new ProblemError('overloaded', { headers: { connection: 'close' } }))
      })
      try {
        return await read(refusal.signal)
      } finally {
        arriving.delete(slot)
      }
    },
  }
}

/**
 * Middleware that takes a slot for every request but health checks.
 *
 * @param unverifiedPaths the routes whose senders are unknown until the whole body is read.
 */
export function limitConcurrency(slots: Slots, unverifiedPaths: ReadonlySet<string>) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { path } = request
    if (!PROBES.has(path)) slots.take(request, response, unverifiedPaths.has(path))
    next()
  }
}
