// The routes of Stripe's API that the stand-in answers. Any other route is a 404, as at Stripe.
import { createCustomer } from './customers/customers.ts'
import { attachPaymentMethod, listPaymentMethodsOfCustomer } from './customers/payment-methods.ts'
import {
  cancelPaymentIntent,
  capturePaymentIntent,
  confirmPaymentIntent,
  createPaymentIntent,
  incrementAuthorization,
} from './payment-intents/payment-intents.ts'
import { createRefund } from './refunds/refunds.ts'
import type { Endpoint } from './requests/endpoint.ts'
import { list, retrieve, retrieveAccount } from './requests/read-objects.ts'
import { search } from './requests/search.ts'

export const apiRoutes: readonly (readonly ['get' | 'post', path: string, Endpoint])[] = [
  ['post', '/v1/payment_intents', createPaymentIntent],
  ['get', '/v1/account', retrieveAccount],
  ['get', '/v1/payment_intents', list('payment_intent', ['customer'])],
  ['get', '/v1/payment_intents/search', search('payment_intent')],
  ['get', '/v1/payment_intents/:id', retrieve('payment_intent')],
  ['post', '/v1/payment_intents/:id/confirm', confirmPaymentIntent],
  ['post', '/v1/payment_intents/:id/capture', capturePaymentIntent],
  ['post', '/v1/payment_intents/:id/cancel', cancelPaymentIntent],
  ['post', '/v1/payment_intents/:id/increment_authorization', incrementAuthorization],
  ['post', '/v1/customers', createCustomer],
  ['get', '/v1/customers/search', search('customer')],
  ['get', '/v1/customers/:id', retrieve('customer')],
  ['get', '/v1/customers/:id/payment_methods', listPaymentMethodsOfCustomer],
  ['get', '/v1/payment_methods/:id', retrieve('payment_method')],
  ['post', '/v1/payment_methods/:id/attach', attachPaymentMethod],
  ['post', '/v1/refunds', createRefund],
  ['get', '/v1/refunds', list('refund', ['payment_intent', 'charge'])],
  ['get', '/v1/refunds/:id', retrieve('refund')],
  ['get', '/v1/disputes', list('dispute', ['charge', 'payment_intent'])],
  ['get', '/v1/disputes/:id', retrieve('dispute')],
  [
    'get',
    '/v1/radar/early_fraud_warnings',
    list('radar.early_fraud_warning', ['charge', 'payment_intent']),
  ],
  ['get', '/v1/radar/early_fraud_warnings/:id', retrieve('radar.early_fraud_warning')],
  ['get', '/v1/balance_transactions', list('balance_transaction', ['type', 'source'])],
  ['get', '/v1/balance_transactions/:id', retrieve('balance_transaction')],
]
