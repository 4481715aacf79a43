// The HTTP client that the stripe package is given: Stripe's own, with two of its habits taken away.
// It never repeats a request, and an answer that is no object does not end the process.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import Stripe from 'stripe'

type HttpClient = InstanceType<typeof Stripe.HttpClient>
type NodeHttpClient = ReturnType<typeof Stripe.createNodeHttpClient>
type HttpClientResponse = Awaited<ReturnType<NodeHttpClient['makeRequest']>>

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
      return refusingScalars(await makeRequest(...request))
    } catch (error) {
      throw withoutRetriedCode(error)
    }
  }
  return client
}

/**
 * The stripe package writes onto the answer that it has parsed. On a number, a text or a boolean that
 * throws where nothing catches it, which ends the process and never tells the caller.
 */
function refusingScalars(response: HttpClientResponse): HttpClientResponse {
  const toJSON = response.toJSON.bind(response)
  response.toJSON = async () => {
    const answered: unknown = await toJSON()
    if (typeof answered !== 'object') throw new Error('the answer is not an object')
    return answered
  }
  return response
}

function withoutRetriedCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('code' in error)) return error
  const retried = Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES.includes(String(error.code))
  return retried ? Object.assign(error, { code: CONNECTION_LOST }) : error
}
