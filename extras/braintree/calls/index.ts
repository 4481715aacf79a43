// The calls that move money at Braintree, each in a file of its own. Each makes one request. Only some
// accounts have keys: what tells one call from another is the order id of the transaction that it
// creates, or the state of the one that it changes.
import type { AdapterCalls } from '../../../src/provider/calls.ts'
import type { Connection } from '../connection.ts'
import { adjust } from './adjust.ts'
import { authorize } from './authorize.ts'
import { cancel } from './cancel.ts'
import { capture } from './capture.ts'
import { refundPayment } from './refund.ts'

export const braintreeCalls: AdapterCalls<Connection> = {
  authorize,
  capture,
  adjust,
  cancel,
  refund: refundPayment,
}
