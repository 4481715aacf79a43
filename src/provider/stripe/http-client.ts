// The HTTP client for the stripe package: Stripe's own client with two changes. It never repeats a
// request, and an answer that is not an object does not crash the process.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import Stripe from 'stripe'

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

export function createStripeHttpClient(protocol: 'http' | 'https'): HttpClient {
  const options = { keepAlive: true }
  const client = Stripe.createNodeHttpClient(
    protocol === 'http' ? new HttpAgent(options) : new HttpsAgent(options),
  )
  const makeRequest = client.makeRequest.bind(client)
  client.makeRequest = async (...request) => {
    try {
      return refusingScalars(await makeRequest(...request))
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

function withoutRetriedCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('code' in error)) return error
  const retried = Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES.includes(String(error.code))
  return retried ? Object.assign(error, { code: CONNECTION_LOST }) : error
}
