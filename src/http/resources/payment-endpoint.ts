// Serves the POST of an operation on an existing payment. The operation marks the payment as
// processing only if its status allows it, so that one of several concurrent operations wins. One that
// keeps the status needs an allowed status, too, but takes the payment from no other operation.
import { z } from 'zod'
import {
  findPayment,
  paymentFromRow,
  markProcessingIfIn,
  selectPaymentIfIn,
  type PaymentCondition,
  type PaymentRow,
} from '../../db/payments/payments.ts'
import {
  type PaymentStatus,
  type Payment,
  hasExpired,
  paymentPath,
  presentPayment,
} from '../../domain/payments/payment.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Operation } from '../../engine/define-operation.ts'
import { declarationOf } from '../../provider/calls.ts'
import { abilities, type Ability, type Capabilities } from '../../provider/capabilities.ts'
import {
  defineKeyedRoute,
  refusing,
  type KeyedRoute,
  type OperationEndpoint,
} from '../keyed/keyed-route.ts'
import type { BodyContract, Contract } from '../contracts/contract.ts'
import { findRequested, pathOf } from '../contracts/reads.ts'
import type { KeyedResource } from '../keyed/keyed-answer.ts'
import { validateBody } from '../requests/validate-body.ts'
import { acceptedPayment, ownPayment } from './payment.ts'

type Parameters = Readonly<Record<string, unknown>>

export interface PaymentRoute<Body extends z.ZodObject, Stored extends Parameters> extends Pick<
  KeyedRoute,
  'path'
> {
  readonly operation: Operation & {
    readonly startsFrom: readonly PaymentStatus[]
    readonly changesStatus?: false
  }
  /** What openapi.yaml says about it, beside what all these routes have. */
  readonly contract: Omit<Contract, 'tag' | 'path' | 'keyed' | 'body'> & {
    readonly body: BodyContract & { readonly schema: Body }
  }
  /**
   * Returns the parameters that the operation stores. The payment was read before the key was
   * reserved. Use it for defaults only; conditions on the payment belong into `requires`.
   */
  readonly parameters: (body: z.output<Body>, payment: Payment) => Stored
  /** Returns why a new operation is refused in every state of the payment: see `refusing`. */
  readonly refuses?: (
    body: z.output<Body>,
    payment: Payment,
    capabilities: Capabilities,
  ) => ProblemError | undefined
  /** A condition on the payment as it is when the key is reserved, in addition to its status. */
  readonly requires?: (now: Payment, parameters: Stored) => boolean
  /** Explains why `requires` was not met; undefined when only the status was wrong. */
  readonly explain?: (now: Payment, parameters: Stored) => ProblemError | undefined
}

export function paymentEndpoint<Body extends z.ZodObject, Stored extends Parameters>(
  route: PaymentRoute<Body, Stored>,
): OperationEndpoint {
  const { operation, path, contract } = route
  const answers = { ...contract.answers, 202: acceptedPayment }
  const needs = declarationOf(operation.phases['started']?.call)?.needs
  const select = operation.changesStatus === false ? selectPaymentIfIn : markProcessingIfIn
  const mark = select(operation.startsFrom, route.requires as PaymentCondition | undefined)
  return defineKeyedRoute({
    operation,
    path,
    contract: { ...contract, tag: 'Payments', ...pathOf(ownPayment), keyed: 'foreign', answers },
    scope: 'payments:write',
    async readBeforeKey({ parts, request, tenantId, body }) {
      const valid = validateBody(contract.body.schema, body)
      const payment = await findRequested(ownPayment, parts.store.sql, request, tenantId)
      const parameters = route.parameters(valid, payment)
      const capabilities = parts.providers.capabilitiesOf(payment.provider)
      const problem = needs && unableTo(needs, capabilities)
      return refusing(problem ?? route.refuses?.(valid, payment, capabilities), {
        paymentId: payment.id,
        parameters,
        resource: mark,
        async explainRefusal() {
          const now = await findPayment(parts.store.sql, tenantId, payment.id)
          const explained = now && route.explain?.(now, parameters)
          return explained ?? invalidState(now)
        },
      })
    },
    resource: paymentResource,
  })
}

/** The refusal of a request that needs this ability; undefined if the provider has it. */
export function unableTo(ability: Ability, capabilities: Capabilities): ProblemError | undefined {
  const detail = abilities[ability].lack
  return capabilities[ability]
    ? undefined
    : new ProblemError('not-supported-by-provider', { detail })
}

export const paymentResource: KeyedResource = {
  kind: 'payment',
  async read(sql, { key: { tenantId, paymentId }, resource }) {
    const payment =
      resource === null
        ? await findPayment(sql, tenantId, paymentId ?? '')
        : paymentFromRow(resource as PaymentRow)
    return payment && { ...payment, path: paymentPath(payment.id), json: presentPayment(payment) }
  },
}

/** Returns the problem invalid-state, which names the payment's current status. */
export function invalidState(now: Payment | undefined): ProblemError {
  const why = now !== undefined && hasExpired(now) ? ': its authorization has expired' : ''
  const detail = `The payment is ${now?.status ?? 'gone'}${why}.`
  return new ProblemError('invalid-state', { detail })
}
