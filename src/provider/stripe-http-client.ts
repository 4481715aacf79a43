// The HTTP client that the stripe package is given: Stripe's own, with two of its habits taken away.
// It never repeats a request, and a call as a whole has a time limit.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import Stripe from 'stripe'

type HttpClient = InstanceType<typeof Stripe.HttpClient>

/**
 * A connection that ended before the answer did. The stripe package repeats a request by itself when
 * it sees ECONNRESET or EPIPE, whatever its `maxNetworkRetries`; then the error of the second try (a
 * refused connection, say) would hide that the first may have run. Under this code it does not.
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
      return await makeRequest(...request)
    } catch (error) {
      throw withoutRetriedCode(error)
    }
  }
  return client
}

function withoutRetriedCode(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const retried = Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES.includes(String(error.code))
  return retried ? Object.assign(error, { code: CONNECTION_LOST }) : error
}
