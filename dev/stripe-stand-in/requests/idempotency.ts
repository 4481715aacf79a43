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

/**
 * `keep`: as Stripe. `forget`: no results are kept, and the kept ones are deleted; a key in flight
 * is still refused. `ignore`: requests are handled as if they had no key.
 */
export const idempotencyModes = ['keep', 'forget', 'ignore'] as const
type IdempotencyMode = (typeof idempotencyModes)[number]

const RETENTION_MS = 24 * 60 * 60 * 1000

export type Idempotency = ReturnType<typeof createIdempotency>

/** Starts in the mode that the storage contains. */
export function createIdempotency({ keptResults, settings, transaction }: Storage) {
  let mode = (settings.read('idempotency_mode') ?? 'keep') as IdempotencyMode
  /** How many requests of each key are in flight: a fault may delay two. */
  const inFlight = new Map<string, number>()

  /** Counts the request's key as in flight until the returned function is called. */
  const begin = (request: ApiRequest): (() => void) => {
    if (request.idempotencyKey === undefined) return () => {}
    const scopedKey = scopedKeyOf(request)
    const count = (change: 1 | -1) => {
      const requests = (inFlight.get(scopedKey) ?? 0) + change
      if (requests > 0) inFlight.set(scopedKey, requests)
      else inFlight.delete(scopedKey)
    }
    count(1)
    return () => count(-1)
  }

  return {
    begin,
    /** Executes the request and keeps its result, or replays the kept result of its key. */
    answer: (request: ApiRequest, execute: () => Answer): WireAnswer => {
      const key = mode === 'ignore' ? undefined : request.idempotencyKey
      if (key === undefined) return transaction(() => run(execute).answer)
      if (inFlight.has(scopedKeyOf(request))) return refusalAnswer(keyInUse(key))
      const fingerprint = fingerprintOf(request)
      const keptAfterMs = request.nowMs - RETENTION_MS
      const kept = keptResults.find(request.account, key, keptAfterMs)
      if (kept) return replay(kept, fingerprint, key)
      return transaction(() => {
        const { answer: first, beganExecuting } = run(execute)
        if (mode === 'keep' && beganExecuting) {
          const result = { fingerprint, ...first, request_id: request.requestId }
          keptResults.keep(request.account, key, request.nowMs, result)
        }
        return first
      })
    },
    /** Counts the request's key as in flight while the work runs. */
    whileInFlight: async (request: ApiRequest, work: () => Promise<void>) => {
      const end = begin(request)
      try {
        await work()
      } finally {
        end()
      }
    },
    setMode: (newMode: IdempotencyMode) => {
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
  // A replay repeats exactly the bytes of the first answer.
  return jsonAnswer(kept.status, kept.body, {
    'Idempotent-Replayed': 'true',
    'Original-Request': kept.request_id,
  })
}

/** The fingerprint does not depend on the order of the parameters. */
function fingerprintOf({ path, params }: ApiRequest): string {
  return hash('sha256', `${path}\n${canonicalize(params)}`)
}

function scopedKeyOf({ account, idempotencyKey }: ApiRequest): string {
  return `${account} ${idempotencyKey}`
}

function jsonAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): WireAnswer {
  return { status, body, contentType: 'application/json', headers }
}

export function refusalAnswer({ status, body, headers }: StripeError): WireAnswer {
  return jsonAnswer(status, JSON.stringify(body), headers)
}
