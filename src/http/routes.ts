// Every route of the API. `tenant` routes need an API key; `open` ones are for anyone.
import { cancelPaymentEndpoint } from './cancel-payment.ts'
import { capturePaymentEndpoint } from './capture-payment.ts'
import { createPaymentEndpoint } from './create-payment.ts'
import { createRefundEndpoint } from './create-refund.ts'
import type { OpenEndpoint, TenantEndpoint } from './endpoint.ts'
import { getIdempotencyKey } from './get-idempotency-key.ts'
import { getPayment } from './get-payment.ts'
import { getPaymentTimeline } from './get-payment-timeline.ts'
import { getProblem } from './get-problem.ts'
import { getRefund } from './get-refund.ts'
import { getHealth, getReadiness } from './health.ts'
import { listPaymentRefunds } from './list-payment-refunds.ts'
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
  { path: '/v1/payments/:id/capture', post: tenant(capturePaymentEndpoint) },
  { path: '/v1/payments/:id/cancel', post: tenant(cancelPaymentEndpoint) },
  {
    path: '/v1/payments/:id/refunds',
    post: tenant(createRefundEndpoint),
    get: tenant(listPaymentRefunds),
  },
  { path: '/v1/refunds/:id', get: tenant(getRefund) },
  { path: '/v1/payments/:id/timeline', get: tenant(getPaymentTimeline) },
  { path: '/v1/idempotency-keys/:key', get: tenant(getIdempotencyKey) },
  { path: '/problems/:type', get: open(getProblem) },
  { path: '/healthz', get: open(getHealth) },
  { path: '/readyz', get: open(getReadiness) },
]
