// Makes payments of the demo tenant for a while, as a careful client does: each request is repeated with
// its idempotency key until it has a final answer, also while the API is down.
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

export interface TrafficOptions {
  readonly apiUrl: string
  readonly apiKey: string
  readonly paymentsPerSecond: number
  readonly seconds: number
}

export type Traffic = ReturnType<typeof startTraffic>

/** Longer than a restart of the API takes. */
const REPEAT_MS = 500
/** Longer than the API waits for a result. */
const TRY_LIMIT_MS = 30_000
/** A payment without a final answer for two minutes is left to the service. */
const REPEATS_MAX = 240

export function startTraffic({ apiUrl, apiKey, paymentsPerSecond, seconds }: TrafficOptions) {
  const stopping = new AbortController()
  let left = paymentsPerSecond * seconds
  const timer = setInterval(() => {
    left -= 1
    if (left <= 0) clearInterval(timer)
    void pay(`${apiUrl}/v1/payments`, apiKey, stopping.signal)
  }, 1_000 / paymentsPerSecond)
  return {
    /** How many payments it will still start. */
    left: () => left,
    /** Starts no more payments, and repeats none. */
    stop() {
      left = 0
      clearInterval(timer)
      stopping.abort()
    },
  }
}

/** Returns the options of a `fetch` of `POST /v1/payments`, with the API key of the demo tenant. */
export function demoPayment(
  apiKey: string,
  idempotencyKey: string,
  terms: { amount: number; payment_method: string },
) {
  return {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': idempotencyKey,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ currency: 'usd', ...terms }),
  }
}

async function pay(url: string, apiKey: string, signal: AbortSignal): Promise<void> {
  const terms = { amount: randomInt(100, 10_000), payment_method: 'pm_card_visa' }
  const request = demoPayment(apiKey, randomUUID(), terms)
  for (let repeat = 0; repeat < REPEATS_MAX && !signal.aborted; repeat += 1) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TRY_LIMIT_MS)])
    if (await isAnswered(url, { ...request, signal: limit })) return
    await delay(REPEAT_MS, undefined, { signal }).catch(() => {})
  }
}

/** A 202 is repeated too: the result comes later. */
async function isAnswered(url: string, request: RequestInit): Promise<boolean> {
  try {
    const response = await fetch(url, request)
    await response.arrayBuffer()
    return response.status < 500 && ![202, 409, 429].includes(response.status)
  } catch {
    return false
  }
}
