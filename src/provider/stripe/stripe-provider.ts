// The payment provider Stripe, called with Stripe's official package. Each call returns the request
// that it sent, and ends within the time limit.
import Stripe from 'stripe'
import type { Done, NotExecuted } from '../../domain/operations/outcome.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund, RefundProviderStatus } from '../../domain/payments/refund.ts'
import type { ProviderStatus } from '../../domain/payments/provider-status.ts'
import { connectCalls } from '../calls.ts'
import type { PaymentProvider } from '../payment-provider.ts'
import { asRead } from '../call-outcomes.ts'
import { confirmRefund, confirmProviderStatus } from './answers.ts'
import { stripeCapabilities } from './adapter.ts'
import { shareIntentLists } from './calls/authorize.ts'
import { readIntent } from './calls/call.ts'
import { stripeCalls } from './calls/index.ts'
import { toOutcome, type Connection } from './connection.ts'
import {
  listDisputes,
  readDispute,
  readEarlyFraudWarning,
  retrieveDispute,
} from './disputes/disputes.ts'
import { createStripeHttpClient, type HttpOptions } from './http/http-client.ts'
import { listMovements } from './records/movements.ts'
import { listPayments, listRefunds, readPayment, readRefund } from './records/records.ts'
import { withinTimeLimit } from '../deadline.ts'
import { isStripesOwn } from './errors.ts'

export interface StripeOptions extends HttpOptions {
  readonly secretKey: string
  /** Another server with Stripe's API, such as http://127.0.0.1:3100. */
  readonly apiBase?: string | undefined
  /** Where a customer comes back who had to leave to authenticate; a page without a purpose by default. */
  readonly returnUrl?: string
  /** The time limit of a whole call, in milliseconds. After that its outcome is unknown. */
  readonly timeoutMs: number
}

/** A domain that is reserved for examples. Stripe.js needs no page for cards. */
const NO_PAGE = 'https://example.com/'

export function createStripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = new Stripe(options.secretKey, stripeConfig(options))
  const { timeoutMs, returnUrl = NO_PAGE } = options
  const reading = { stripe, timeoutMs, returnUrl }
  const connection = { ...reading, readIntents: shareIntentLists(reading) }
  return {
    name: 'stripe',
    capabilities: stripeCapabilities,
    calls: connectCalls(connection, stripeCapabilities, stripeCalls),
    readAccount: () => readAccount(connection, options.secretKey),
    retrieve: (payment) => retrievePayment(connection, payment),
    retrieveRefund: (refund) => retrieveRefund(connection, refund),
    retrieveDispute: (dispute) => retrieveDispute(connection, dispute),
    listPayments: (...asked) => listPayments(connection, ...asked),
    listRefunds: (...asked) => listRefunds(connection, ...asked),
    listDisputes: (...asked) => listDisputes(connection, ...asked),
    listMovements: (...asked) => listMovements(connection, ...asked),
    readPayment: (id) => readPayment(connection, id),
    readRefund: (id) => readRefund(connection, id),
    readDispute: (id) => readDispute(connection, id),
    readEarlyFraudWarning: (id) => readEarlyFraudWarning(connection, id),
  }
}

async function retrievePayment(
  connection: Connection,
  payment: Payment,
): Promise<Done<ProviderStatus> | NotExecuted> {
  return await readIntent(connection, payment, (intent, asked) =>
    confirmProviderStatus(payment, intent, asked),
  )
}

async function retrieveRefund(
  connection: Connection,
  refund: Refund,
): Promise<Done<RefundProviderStatus> | NotExecuted> {
  const { providerRefundId: id } = refund
  if (id === null) throw new Error(`refund ${refund.id} has no id at the provider`)
  const asked = { call: 'refunds.retrieve', refund_id: id }
  const looked = await toOutcome(connection, asked, async () =>
    confirmRefund(refund, await connection.stripe.refunds.retrieve(id), asked),
  )
  return asRead(looked)
}

function stripeConfig(options: StripeOptions): Stripe.StripeConfig {
  const { apiBase, timeoutMs } = options
  const base = new URL(apiBase ?? 'https://api.stripe.com')
  const protocol = base.protocol === 'http:' ? 'http' : 'https'
  return {
    protocol,
    // A URL writes an IPv6 address in brackets, a connection does not.
    host: base.hostname.replaceAll(/[[\]]/g, ''),
    port: base.port || (protocol === 'http' ? 80 : 443),
    timeout: timeoutMs,
    // Only the engine retries, with its own provider key.
    maxNetworkRetries: 0,
    httpClient: createStripeHttpClient(protocol, options),
    telemetry: false,
    appInfo: { name: 'atomic-payments' },
  }
}

/**
 * The id of the account, with the mode of the key: the objects of both modes are apart
 * (https://docs.stripe.com/keys). Stripe also names the account when it refuses a restricted key
 * that may not read it (stripe/stripe-node#2246). Undefined when that refusal names none.
 *
 * @throws the errors of the connection, or an Error when the answer has no account id.
 */
async function readAccount(connection: Connection, secretKey: string): Promise<string | undefined> {
  const mode = /^[sr]k_live_/.test(secretKey) ? 'live' : 'test'
  try {
    const { id } = await withinTimeLimit(connection, () =>
      connection.stripe.accounts.retrieveCurrent(),
    )
    if (typeof id !== 'string' || !/^acct_\w+$/.test(id)) throw new Error('the account has no id')
    return `${id} ${mode}`
  } catch (error) {
    // A proxy may answer 403, too.
    if (!(error instanceof Stripe.errors.StripePermissionError) || !isStripesOwn(error)) throw error
    const [, named] = /'(acct_\w+)'/.exec(error.message) ?? []
    return named && `${named} ${mode}`
  }
}
