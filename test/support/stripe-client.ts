// Uses Stripe's official package as a client of this API. The package sends forms, which the API
// does not accept, so that its HTTP client is replaced by one that sends JSON.
import { Stripe } from 'stripe'
import type { Tenant } from './service.ts'

/** @param maxNetworkRetries the limit of the automatic retries, which the responses control. */
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
