// Every operation. A new one is a folder beside this file, and a line here.
import type { Operation } from '../engine/define-operation.ts'
import { cancelPayment } from './cancel-payment/phases.ts'
import { capturePayment } from './capture-payment/phases.ts'
import { createPayment } from './create-payment/phases.ts'
import { createRefund } from './create-refund/phases.ts'
import { followPayment } from './follow-payment/phases.ts'

export const operations: readonly Operation[] = [
  createPayment,
  capturePayment,
  cancelPayment,
  createRefund,
  followPayment,
]
