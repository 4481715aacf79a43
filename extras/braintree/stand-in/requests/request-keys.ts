// Remembers the request keys of calls, as an account with at-most-once processing does: the same request
// again gets the transaction in its current state, and a call that left none cannot be repeated.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import type { KeyUse, Storage, ApiRequest, Endpoint } from '../storage.ts'
import { invalid, Refusal } from './refusals.ts'
import { findTransaction, transactionAnswer } from '../transactions/changes.ts'

const KEPT_MS = 30 * 86_400_000
const KEY_LENGTH_MAX = 255

/** @see https://developer.paypal.com/braintree/articles/guides/at-most-once */
export function onceByKey(endpoint: Endpoint): Endpoint {
  return (request, storage) => {
    const { api_request_key: key } = request.body
    if (typeof key !== 'string') return endpoint(request, storage)
    if (!storage.settings.request_keys) throw invalid('915231')
    if (key.length > KEY_LENGTH_MAX) throw invalid('915230')
    const asked = JSON.stringify([request.method, request.path, request.body])
    const use = storage.keys.get(key)
    if (use === undefined || request.nowMs - use.usedAtMs >= KEPT_MS) {
      return firstUse(key, asked, endpoint, request, storage)
    }
    if (use.request !== asked) throw invalid('915232')
    if (use.transactionId === null) throw invalid('915234')
    return transactionAnswer(findTransaction(storage, use.transactionId))
  }
}

function firstUse(
  key: string,
  asked: string,
  endpoint: Endpoint,
  request: ApiRequest,
  storage: Storage,
): WireAnswer {
  const use: KeyUse = { request: asked, usedAtMs: request.nowMs, transactionId: null }
  storage.keys.set(key, use)
  const before = new Set(storage.transactions.keys())
  try {
    const answer = endpoint(request, storage)
    use.transactionId = [...storage.transactions.keys()].find((id) => !before.has(id)) ?? request.id
    return answer
  } catch (error) {
    if (!(error instanceof Refusal)) storage.keys.delete(key)
    throw error
  }
}
