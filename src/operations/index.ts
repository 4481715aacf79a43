// Lists all operations. A new operation is a folder beside this file and a line in the list.
// Routes, openapi.yaml, the documents, the generic tests and the fault suite use this list.
import type { Operation } from '../engine/define-operation.ts'
import type { OperationEndpoint } from '../http/keyed/keyed-route.ts'
import { adjustPaymentEndpoint } from './adjust-payment/endpoint.ts'
import { cancelPaymentEndpoint } from './cancel-payment/endpoint.ts'
import { capturePaymentEndpoint } from './capture-payment/endpoint.ts'
import { createPaymentEndpoint } from './create-payment/endpoint.ts'
import { createRefundEndpoint } from './create-refund/endpoint.ts'
import { followDispute } from './follow-dispute/phases.ts'
import { followPayment } from './follow-payment/phases.ts'
import { followRefund } from './follow-refund/phases.ts'
import { releaseHold } from './release-hold/phases.ts'

/** The POST endpoints that start operations, for the routes and openapi.yaml. */
export const operationEndpoints: readonly OperationEndpoint[] = [
  createPaymentEndpoint,
  capturePaymentEndpoint,
  cancelPaymentEndpoint,
  createRefundEndpoint,
  adjustPaymentEndpoint,
]

/** The phase tables, for the engine. No client can start the last four operations. */
export const operations: readonly Operation[] = [
  ...operationEndpoints.map(({ operation }) => operation),
  followPayment,
  followRefund,
  followDispute,
  releaseHold,
]
