// Lists all operations. A new operation is a folder beside this file and a line in the list.
// Routes, openapi.yaml, the documents, the generic tests and the fault suite use this list.
import type { Operation } from '../engine/define-operation.ts'
import type { OperationEndpoint } from '../http/keyed/keyed-route.ts'
import { adjustPaymentEndpoint } from './adjust-payment/endpoint.ts'
import { adjustPayment } from './adjust-payment/phases.ts'
import { cancelPaymentEndpoint } from './cancel-payment/endpoint.ts'
import { cancelPayment } from './cancel-payment/phases.ts'
import { capturePaymentEndpoint } from './capture-payment/endpoint.ts'
import { capturePayment } from './capture-payment/phases.ts'
import { createPaymentEndpoint } from './create-payment/endpoint.ts'
import { createPayment } from './create-payment/phases.ts'
import { createRefundEndpoint } from './create-refund/endpoint.ts'
import { createRefund } from './create-refund/phases.ts'
import { followDispute } from './follow-dispute/phases.ts'
import { followPayment } from './follow-payment/phases.ts'
import { followRefund } from './follow-refund/phases.ts'
import { releaseHold } from './release-hold/phases.ts'

interface Entry {
  readonly operation: Operation
  /** Absent for an operation that no client can start. */
  readonly endpoint?: OperationEndpoint
}

const entries: readonly Entry[] = [
  { operation: createPayment, endpoint: createPaymentEndpoint },
  { operation: capturePayment, endpoint: capturePaymentEndpoint },
  { operation: cancelPayment, endpoint: cancelPaymentEndpoint },
  { operation: createRefund, endpoint: createRefundEndpoint },
  { operation: adjustPayment, endpoint: adjustPaymentEndpoint },
  { operation: followPayment },
  { operation: followRefund },
  { operation: followDispute },
  { operation: releaseHold },
]

/** The phase tables, for the engine. */
export const operations: readonly Operation[] = entries.map(({ operation }) => operation)

/** The POST endpoints that start operations, for the routes and openapi.yaml. */
export const operationEndpoints: readonly OperationEndpoint[] = entries.flatMap(
  ({ endpoint }) => endpoint ?? [],
)
