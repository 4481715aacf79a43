// Every route of the API. `tenant` routes need an API key; `open` ones are for anyone.
import { createPaymentEndpoint } from './create-payment.ts'
import type { OpenEndpoint, TenantEndpoint } from './endpoint.ts'
import { getIdempotencyKey } from './get-idempotency-key.ts'
import { getPayment } from './get-payment.ts'
import { getPaymentTimeline } from './get-payment-timeline.ts'
import { getProblem } from './get-problem.ts'
import { getHealth, getReadiness } from './health.ts'
import { listPayments } from './list-payments.ts'

export interface Route {
  readonly path: string
  readonly get?: Endpoint
  readonly post?: Endpoint
}

export type Endpoint =
  | { readonly access: 'open'; readonly endpoint: OpenEndpoint }
  | { readonly access: 'tenant'; readonly endpoint: TenantEndpoint }

const open = (endpoint: OpenEndpoint): Endpoint => ({ access: 'open', endpoint })
const tenant = (endpoint: TenantEndpoint): Endpoint => ({ access: 'tenant', endpoint })

export const routes: readonly Route[] = [
  { path: '/v1/payments', post: tenant(createPaymentEndpoint), get: tenant(listPayments) },
  { path: '/v1/payments/:id', get: tenant(getPayment) },
  { path: '/v1/payments/:id/timeline', get: tenant(getPaymentTimeline) },
  { path: '/v1/idempotency-keys/:key', get: tenant(getIdempotencyKey) },
  { path: '/problems/:type', get: open(getProblem) },
  { path: '/healthz', get: open(getHealth) },
  { path: '/readyz', get: open(getReadiness) },
]
