// Sends API requests for tests: one function for each kind of request, which returns the response.
import { randomUUID } from 'node:crypto'
import { fetchApi } from './documented.ts'
import type { Tenant } from './service.ts'

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  /** The body's exact text. */
  readonly text: string
  readonly json: Record<string, unknown>
}

/** Returns a valid body. A test overrides only the fields that matter for it. */
export function paymentBody(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa', ...fields }
}

export interface PostOptions {
  readonly key?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export async function postPayment(
  url: string,
  tenant: Tenant,
  body: unknown = paymentBody(),
  options: PostOptions = {},
): Promise<ApiResponse> {
  return await post(url, tenant, '/v1/payments', body, options)
}

/** Sends a POST with an idempotency key. Without a body there is no Content-Type header either. */
export async function post(
  url: string,
  tenant: Tenant,
  path: string,
  body?: unknown,
  { key = randomUUID(), headers = {}, signal }: PostOptions = {},
): Promise<ApiResponse> {
  const response = await fetchApi(`${url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tenant.apiKey}`,
      'idempotency-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  return await read(response)
}

export async function get(url: string, tenant: Tenant, path: string): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${tenant.apiKey}` }
  return await read(await fetchApi(`${url}${path}`, { headers }))
}

export async function read(response: Response): Promise<ApiResponse> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>
  return { status: response.status, headers: response.headers, text, json }
}

/** Sends a DELETE with an idempotency key. */
export async function remove(
  url: string,
  tenant: Tenant,
  path: string,
  { key = randomUUID(), headers = {} }: PostOptions = {},
): Promise<ApiResponse> {
  const own = { authorization: `Bearer ${tenant.apiKey}`, 'idempotency-key': key }
  return await read(
    await fetchApi(`${url}${path}`, { method: 'DELETE', headers: { ...own, ...headers } }),
  )
}
