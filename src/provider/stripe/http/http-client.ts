// The HTTP client for the stripe package: Stripe's own client with four changes. It never repeats a
// request, sends none after its deadline, an answer that is not an object does not crash the process,
// and reads are paced.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import Stripe from 'stripe'
import { lookupBy, type Resolve } from '../../../names/resolver.ts'
import type { ProviderClock } from '../../guards.ts'
import { connectBeforeSending, refuseLateRequest } from '../../deadline.ts'
import { createPace, isAboutObject, readRateLimit, type RateLimit } from './pace.ts'

type HttpClient = InstanceType<typeof Stripe.HttpClient>
type NodeHttpClient = ReturnType<typeof Stripe.createNodeHttpClient>
type HttpClientResponse = Awaited<ReturnType<NodeHttpClient['makeRequest']>>

/**
 * The error code for a connection that ended before the answer did. On ECONNRESET or EPIPE the
 * stripe package repeats the request, even with `maxNetworkRetries: 0`. The error of the second try
 * (for example a refused connection) would then hide that the first try may have run. It does not
 * repeat requests with this code.
 */
const CONNECTION_LOST = 'CONNECTION_LOST'

/** The first call of a process waits for this read, and calls that move money are not paced. */
const ACCOUNT = '/v1/account'

/** How a process reaches Stripe, and keeps within its limits. */
export interface HttpOptions {
  /** Resolves Stripe's name; by default as the system does. */
  readonly resolve?: Resolve
  /** How many reads per second are sent; without a limit by default. */
  readonly readsPerSecond?: number
  /** Notes the Date of each answer. */
  readonly clock?: ProviderClock
  /** Called when Stripe limits the rate of a request. */
  readonly rateLimited?: (limit: RateLimit) => void
}

/** @param options.timeoutMs the time limit of a call. A read waits for at most half of it. */
export function createStripeHttpClient(
  protocol: 'http' | 'https',
  {
    readsPerSecond = 0,
    clock,
    rateLimited,
    resolve,
    timeoutMs,
  }: HttpOptions & { readonly timeoutMs: number },
): HttpClient {
  const pace = createPace(readsPerSecond)
  const options = { keepAlive: true, ...(resolve && { lookup: lookupBy(resolve) }) }
  const client = Stripe.createNodeHttpClient(
    protocol === 'http'
      ? connectBeforeSending(new HttpAgent(options), 'connect')
      : connectBeforeSending(new HttpsAgent(options), 'secureConnect'),
  )
  const makeRequest = client.makeRequest.bind(client)
  client.makeRequest = async (...request) => {
    const [, , path, method] = request
    if (method === 'GET' && path !== ACCOUNT) await pace.turn(timeoutMs / 2)
    // A connection that is kept alive is used at once.
    refuseLateRequest()
    try {
      const response = await makeRequest(...request)
      clock?.note(response.getHeaders()['date'])
      return noticingLimits(refusingScalars(response), (limit) => {
        if (!isAboutObject(limit)) pace.pause(limit.retryAfterMs)
        rateLimited?.(limit)
      })
    } catch (error) {
      throw withoutRetriedCode(error)
    }
  }
  return client
}

/**
 * Refuses answers that are not objects. The stripe package adds a property to the parsed answer. On
 * a number, a string or a boolean that throws an uncaught exception, which ends the process.
 */
function refusingScalars(response: HttpClientResponse): HttpClientResponse {
  const toJSON = response.toJSON.bind(response)
  response.toJSON = async () => {
    const json: unknown = await toJSON()
    if (typeof json !== 'object') throw new Error('the answer is not an object')
    return json
  }
  return response
}

function noticingLimits(response: HttpClientResponse, notice: (limit: RateLimit) => void) {
  if (response.getStatusCode() !== 429) return response
  const toJSON = response.toJSON.bind(response)
  response.toJSON = async () => {
    const json = (await toJSON()) as { error?: { code?: unknown } } | null
    notice(readRateLimit(response.getHeaders(), json?.error?.code))
    return json
  }
  return response
}

function withoutRetriedCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('code' in error)) return error
  const retried = Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES.includes(String(error.code))
  return retried ? Object.assign(error, { code: CONNECTION_LOST }) : error
}
