// Implements idempotency keys as Stripe does (https://docs.stripe.com/api/idempotent_requests): the
// first result of a key is its only result. Keys in flight are kept in memory, so that a killed
// process leaves none behind.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { ApiRequest } from './api-request.ts'
import type { Answer } from './endpoint.ts'
import type { KeptResult } from './kept-results.ts'
import type { Storage } from '../storage.ts'
import { keyInUse, keyUsedDifferently, StripeError } from './stripe-errors.ts'
import type { WireAnswer } from '../../stand-in/wire.ts'
import { jsonAnswer, refusalAnswer, replayedAnswer } from './wire.ts'

/**
 * `keep`: as Stripe. `forget`: no results are kept, and the kept ones are deleted; a key in flight
 * is still refused. `ignore`: requests are handled as if they had no key.
 */
export const idempotencyModes = ['keep', 'forget', 'ignore'] as const
type IdempotencyMode = (typeof idempotencyModes)[number]

const RETENTION_MS = 24 * 60 * 60 * 1000

export interface Idempotency {
  /** Executes the request and keeps its result, or replays the kept result of its key. */
  answer(request: ApiRequest, execute: () => Answer): WireAnswer
  /** Counts the request's key as in flight until the returned function is called. */
  begin(request: ApiRequest): () => void
  /** Counts the request's key as in flight while the work runs. */
  whileInFlight(request: ApiRequest, work: () => Promise<void>): Promise<void>
  setMode(mode: IdempotencyMode): void
}

/** Starts in the mode that the storage contains. */
export function createIdempotency(storage: Storage): Idempotency {
  const { keptResults, settings } = storage
  let mode = (settings.read('idempotency_mode') ?? 'keep') as IdempotencyMode
  const inFlight = createInFlight()

  const answer: Idempotency['answer'] = (request, execute) => {
    const key = mode === 'ignore' ? undefined : request.idempotencyKey
    if (key === undefined) return storage.transaction(() => run(execute).answer)
    if (inFlight.has(scopedKeyOf(request))) return refusalAnswer(keyInUse(key))
    const fingerprint = fingerprintOf(request)
    const keptAfterMs = request.nowMs - RETENTION_MS
    const kept = keptResults.find(request.account, key, keptAfterMs)
    if (kept) return replay(kept, fingerprint, key)
    return storage.transaction(() => {
      const { answer: first, beganExecuting } = run(execute)
      if (mode === 'keep' && beganExecuting) {
        const result = { fingerprint, ...first, request_id: request.requestId }
        keptResults.keep(request.account, key, request.nowMs, result)
      }
      return first
    })
  }

  const begin: Idempotency['begin'] = (request) => {
    if (request.idempotencyKey === undefined) return () => {}
    const scopedKey = scopedKeyOf(request)
    inFlight.add(scopedKey)
    return () => inFlight.remove(scopedKey)
  }

  return {
    answer,
    begin,
    whileInFlight: async (request, work) => {
      const end = begin(request)
      try {
        await work()
      } finally {
        end()
      }
    },
    setMode: (newMode) => {
      settings.write('idempotency_mode', newMode)
      mode = newMode
      if (mode === 'forget') keptResults.dropAll()
    },
  }
}

/** A refusal is a normal answer: an endpoint that throws a StripeError has written nothing. */
function run(execute: () => Answer): { answer: WireAnswer; beganExecuting: boolean } {
  try {
    const { status, body } = execute()
    return { answer: jsonAnswer(status, JSON.stringify(body)), beganExecuting: true }
  } catch (error) {
    if (!(error instanceof StripeError)) throw error
    return { answer: refusalAnswer(error), beganExecuting: error.beganExecuting }
  }
}

function replay(kept: KeptResult, fingerprint: string, key: string): WireAnswer {
  if (kept.fingerprint !== fingerprint) return refusalAnswer(keyUsedDifferently(key))
  return replayedAnswer(kept.status, kept.body, kept.request_id)
}

/** The fingerprint does not depend on the order of the parameters. */
function fingerprintOf({ path, params }: ApiRequest): string {
  return hash('sha256', `${path}\n${canonicalize(params)}`)
}

function scopedKeyOf({ account, idempotencyKey }: ApiRequest): string {
  return `${account} ${idempotencyKey}`
}

/** Counts the requests in flight for each key: a fault may delay two requests with the same key. */
function createInFlight() {
  const counts = new Map<string, number>()
  return {
    has: (scopedKey: string) => counts.has(scopedKey),
    add: (scopedKey: string) => void counts.set(scopedKey, (counts.get(scopedKey) ?? 0) + 1),
    remove: (scopedKey: string) => {
      const remaining = (counts.get(scopedKey) ?? 0) - 1
      if (remaining > 0) counts.set(scopedKey, remaining)
      else counts.delete(scopedKey)
    },
  }
}
