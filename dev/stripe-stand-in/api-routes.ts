// The routes of Stripe's API that the stand-in answers. Any other route is a 404, as at Stripe.
import {
  listBalanceTransactions,
  retrieveBalanceTransaction,
} from './balance/balance-transactions.ts'
import { createCustomer, retrieveCustomer } from './customers/customers.ts'
import {
  attachPaymentMethod,
  listPaymentMethodsOfCustomer,
  retrievePaymentMethod,
} from './customers/payment-methods.ts'
import { expandingCharge, expandingCharges } from './payment-intents/expand-charge.ts'
import {
  cancelPaymentIntent,
  capturePaymentIntent,
  confirmPaymentIntent,
  createPaymentIntent,
  incrementAuthorization,
  listPaymentIntents,
  retrievePaymentIntent,
} from './payment-intents/payment-intents.ts'
import { retrieveAccount } from './accounts/retrieve-account.ts'
import { listDisputes, retrieveDispute } from './disputes/disputes.ts'
import {
  listEarlyFraudWarnings,
  retrieveEarlyFraudWarning,
} from './disputes/early-fraud-warnings.ts'
import { createRefund, listRefunds, retrieveRefund } from './refunds/refunds.ts'
import type { Endpoint } from './requests/endpoint.ts'

export const apiRoutes: readonly (readonly ['get' | 'post', path: string, Endpoint])[] = [
  ['post', '/v1/payment_intents', expandingCharge(createPaymentIntent)],
  ['get', '/v1/account', retrieveAccount],
  ['get', '/v1/payment_intents', expandingCharges(listPaymentIntents)],
  ['get', '/v1/payment_intents/:id', expandingCharge(retrievePaymentIntent)],
  ['post', '/v1/payment_intents/:id/confirm', expandingCharge(confirmPaymentIntent)],
  ['post', '/v1/payment_intents/:id/capture', expandingCharge(capturePaymentIntent)],
  ['post', '/v1/payment_intents/:id/cancel', expandingCharge(cancelPaymentIntent)],
  [
    'post',
    '/v1/payment_intents/:id/increment_authorization',
    expandingCharge(incrementAuthorization),
  ],
  ['post', '/v1/customers', createCustomer],
  ['get', '/v1/customers/:id', retrieveCustomer],
  ['get', '/v1/customers/:id/payment_methods', listPaymentMethodsOfCustomer],
  ['get', '/v1/payment_methods/:id', retrievePaymentMethod],
  ['post', '/v1/payment_methods/:id/attach', attachPaymentMethod],
  ['post', '/v1/refunds', createRefund],
  ['get', '/v1/refunds', listRefunds],
  ['get', '/v1/refunds/:id', retrieveRefund],
  ['get', '/v1/disputes', listDisputes],
  ['get', '/v1/disputes/:id', retrieveDispute],
  ['get', '/v1/radar/early_fraud_warnings', listEarlyFraudWarnings],
  ['get', '/v1/radar/early_fraud_warnings/:id', retrieveEarlyFraudWarning],
  ['get', '/v1/balance_transactions', listBalanceTransactions],
  ['get', '/v1/balance_transactions/:id', retrieveBalanceTransaction],
]
