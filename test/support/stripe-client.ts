// The official package as a client of our own API: it sends forms, which the API does not take, and so gets
// an HTTP client that sends the same as JSON.
import { Stripe } from 'stripe'
import type { Tenant } from './service.ts'

/** @param maxNetworkRetries how often it tries again by itself, as it is told by our answers. */
export function stripeClientOf(url: string, { apiKey }: Tenant, maxNetworkRetries = 0): Stripe {
  const { hostname, port } = new URL(url)
  return new Stripe(apiKey, {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries,
    telemetry: false,
    httpClient: sendingJson(Stripe.createNodeHttpClient()),
  })
}

function sendingJson(inner: Stripe.HttpClient): Stripe.HttpClient {
  return {
    getClientName: () => inner.getClientName(),
    makeRequest(host, port, path, method, headers, body, protocol, timeout) {
      const json = method === 'POST' ? jsonOf(body) : body
      const own =
        method === 'POST'
          ? { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) }
          : {}
      return inner.makeRequest(
        host,
        port,
        path,
        method,
        { ...(headers as object), ...own },
        json,
        protocol,
        timeout,
      )
    },
  }
}

function jsonOf(form: string): string {
  const fields = Object.fromEntries(new URLSearchParams(form))
  const { amount } = fields
  return JSON.stringify({ ...fields, ...(amount === undefined ? {} : { amount: Number(amount) }) })
}
