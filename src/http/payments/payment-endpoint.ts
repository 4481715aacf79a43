// The endpoint of an operation on a payment that the path names: it takes the payment if that is in a status
// from which the operation starts. Of operations that race for a payment, one wins.
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connection/client.ts'
import { findPayment, markProcessingIfIn } from '../../db/payments/payments.ts'
import type { PaymentStatus } from '../../domain/payments/payment-status.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Operation } from '../../engine/define-operation.ts'
import { keyedEndpoint, type KeyedRoute, type OperationEndpoint } from '../keyed/keyed-endpoint.ts'
import { showPayment } from '../keyed/unfinished-answer.ts'
import { validateBody } from '../requests/validate-body.ts'
import { invalidState } from './refuse-state.ts'
import { findRequestedPayment } from './requested-payment.ts'

type Parameters = Readonly<Record<string, unknown>>

export interface PaymentRoute<Body extends z.ZodObject, Stored extends Parameters> extends Pick<
  KeyedRoute,
  'path' | 'contract'
> {
  readonly operation: Operation & { readonly startsFrom: readonly PaymentStatus[] }
  readonly body: Body
  /**
   * What the operation stores of the request. The payment is as it was before the key was looked up: it is
   * good for defaults, and for nothing that `unless` would have to refuse.
   */
  readonly parameters: (body: z.output<Body>, payment: Payment) => Stored
  /** What else must be true of the row of `payments`, beside its status. */
  readonly requires?: (sql: Sql, parameters: Stored) => Fragment
  /** Why `requires` was not; undefined when it is only the status. */
  readonly explain?: (now: Payment, parameters: Stored) => ProblemError | undefined
}

export function paymentEndpoint<Body extends z.ZodObject, Stored extends Parameters>(
  route: PaymentRoute<Body, Stored>,
): OperationEndpoint {
  const { operation, path, contract } = route
  return keyedEndpoint({
    operation,
    path,
    contract,
    scope: 'payments:write',
    async readBeforeKey({ parts, request, tenantId, body }) {
      const valid = validateBody(route.body, body)
      const payment = await findRequestedPayment(parts, request, tenantId)
      const parameters = route.parameters(valid, payment)
      return {
        paymentId: payment.id,
        parameters,
        resource: (sql) =>
          markProcessingIfIn(sql, operation.startsFrom, route.requires?.(sql, parameters)),
        async explainRefusal() {
          const now = await findPayment(parts.store.sql, tenantId, payment.id)
          const explained = now && route.explain?.(now, parameters)
          return explained ?? invalidState(now)
        },
      }
    },
    showUnfinished: showPayment,
  })
}
