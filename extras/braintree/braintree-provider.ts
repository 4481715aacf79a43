// The payment provider Braintree, called with Braintree's official package. Each call returns the
// request that it made, and ends within the time limit. Only some accounts have keys: what tells one call
// from another is the order id of the transaction that it creates, or the state of the one it changes.
import braintree from 'braintree'
import type { Resolve } from '../../src/names/resolver.ts'
import { connectCalls } from '../../src/provider/calls.ts'
import type { PaymentProvider } from '../../src/provider/payment-provider.ts'
import type { ProviderClock } from '../../src/provider/guards.ts'
import { braintreeCapabilities, braintreeCapabilitiesWithKeys } from './capabilities.ts'
import { type Connection, type Gateway, within, toOutcome } from './connection.ts'
import { listDisputes, readDispute, retrieveDispute } from './disputes/disputes.ts'
import { createWatchedAgent } from './http/watched-agent.ts'
import { listMovements } from './records/movements.ts'
import { listPayments, listRefunds, readPayment, readRefund } from './records/records.ts'
import { isJson } from '../../src/provider/provider-text.ts'
import { typeOf } from './errors.ts'
import type { Done, NotExecuted, Outcome } from '../../src/domain/operations/outcome.ts'
import type { Payment } from '../../src/domain/payments/payment.ts'
import type { Refund, RefundProviderStatus } from '../../src/domain/payments/refund.ts'
import type { ProviderStatus } from '../../src/domain/payments/provider-status.ts'
import { asRead, confirmed, providerPaymentIdOf } from '../../src/provider/call-outcomes.ts'
import { isSaleOf } from './answers.ts'
import { refundProviderStatusOf, providerStatusOf } from './provider-status.ts'
import { describeTransaction, readTransaction, type Transaction } from './transaction.ts'
import { adjust } from './calls/adjust.ts'
import { authorize } from './calls/authorize.ts'
import { cancel } from './calls/cancel.ts'
import { capture } from './calls/capture.ts'
import { refundPayment } from './calls/refund.ts'

export interface BraintreeOptions {
  readonly environment: 'production' | 'sandbox'
  readonly merchantId: string
  readonly publicKey: string
  readonly privateKey: string
  /** The account of the merchant that takes payments in each currency, in lower case. */
  readonly merchantAccounts: Readonly<Record<string, string>>
  /** Whether the account has at-most-once processing: else it refuses every call with a key. */
  readonly sendsKeys?: boolean
  /** Another server with Braintree's API, such as http://127.0.0.1:3101. */
  readonly apiBase?: string | undefined
  /** The time limit of a whole call, in milliseconds. After that its outcome is unknown. */
  readonly timeoutMs: number
  /**
   * After this time a search shows every transaction, in milliseconds; by default as declared.
   */
  readonly searchLagMs?: number
  /** Resolves Braintree's name; by default as the system does. */
  readonly resolve?: Resolve
  /** Notes the Date of each answer. */
  readonly clock?: ProviderClock
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export function createBraintreeProvider(options: BraintreeOptions): PaymentProvider {
  const connection = connect(options)
  const capabilities = options.sendsKeys ? braintreeCapabilitiesWithKeys : braintreeCapabilities
  return {
    name: 'braintree',
    capabilities,
    calls: connectCalls(connection, capabilities, {
      authorize,
      capture,
      adjust,
      cancel,
      refund: refundPayment,
    }),
    readAccount: () => readAccount(connection, options),
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
    // Braintree sends no early warnings of fraud.
    readEarlyFraudWarning: async () => undefined,
  }
}

function connect(options: BraintreeOptions): Connection {
  const { merchantId, publicKey, privateKey, timeoutMs } = options
  const { server, ssl, ...at } = environmentOf(options)
  const { agent, watch } = createWatchedAgent(ssl, options)
  const Environment = braintree.Environment as unknown as EnvironmentClass
  const gateway = new braintree.BraintreeGateway({
    environment: new Environment(server, at.port, '', ssl, server, at.port),
    merchantId,
    publicKey,
    privateKey,
    customHttpAgent: agent,
  } as unknown as braintree.GatewayConfig) as unknown as Gateway
  gateway.config.timeout = timeoutMs
  return {
    gateway,
    watch,
    timeoutMs,
    sendsKeys: options.sendsKeys ?? false,
    merchantAccounts: new Map(Object.entries(options.merchantAccounts)),
    searchLagMs: options.searchLagMs ?? braintreeCapabilities.lookUpLagSeconds * 1_000,
    now: options.now ?? Date.now,
  }
}

/** The package's types leave its constructor out. */
type EnvironmentClass = new (
  server: string,
  port: string,
  authUrl: string,
  ssl: boolean,
  graphQlServer: string,
  graphQlPort: string,
) => braintree.Environment

const servers = {
  production: 'https://api.braintreegateway.com',
  sandbox: 'https://api.sandbox.braintreegateway.com',
} as const

function environmentOf({ environment, apiBase = servers[environment] }: BraintreeOptions) {
  const { protocol, hostname, port } = new URL(apiBase)
  const ssl = protocol !== 'http:'
  // A URL writes an IPv6 address in brackets, a connection does not.
  const server = hostname.replaceAll(/[[\]]/g, '')
  return { server, ssl, port: port || (ssl ? '443' : '80') }
}

/**
 * The id of the merchant, with the environment: production and sandbox are apart. Braintree refuses
 * keys of another merchant, so any answer to a read proves that the keys are this merchant's. Undefined
 * if the keys may not read.
 *
 * @throws the errors of the connection, or an Error when the answer is about another account.
 */
async function readAccount(
  connection: Connection,
  { merchantId, environment }: { readonly merchantId: string; readonly environment: string },
): Promise<string | undefined> {
  const [id] = connection.merchantAccounts.values()
  if (id === undefined) throw new Error('the merchant has no account')
  try {
    const found = await within(connection, {}, () => connection.gateway.merchantAccount.find(id))
    if (!isJson(found) || found['id'] !== id) throw new Error(`the answer is not about ${id}`)
    return `${merchantId} ${environment}`
  } catch (error) {
    if (typeOf(error) === 'authorizationError') return undefined
    throw error
  }
}

// Reading executes nothing, so after any other answer, or none, it can be repeated.

async function retrievePayment(
  connection: Connection,
  payment: Payment,
): Promise<Done<ProviderStatus> | NotExecuted> {
  return await look(connection, providerPaymentIdOf(payment), (transaction) => {
    const providerStatus = isSaleOf(payment, transaction)
      ? providerStatusOf(transaction)
      : undefined
    const fits =
      providerStatus?.status === 'held'
        ? transaction.amountMinor === payment.amountMinor
        : transaction.amountMinor <= payment.amountMinor
    return fits ? providerStatus : undefined
  })
}

async function retrieveRefund(
  connection: Connection,
  refund: Refund,
): Promise<Done<RefundProviderStatus> | NotExecuted> {
  const { providerRefundId: id, amountMinor, currency } = refund
  if (id === null) throw new Error(`refund ${refund.id} has no id at the provider`)
  return await look(connection, id, (transaction) => {
    const isIt = transaction.amountMinor === amountMinor && transaction.currency === currency
    return isIt && transaction.correlation?.refundId === refund.id
      ? refundProviderStatusOf(transaction)
      : undefined
  })
}

async function look<Value>(
  connection: Connection,
  id: string,
  valueOf: (transaction: Transaction) => Value | undefined,
): Promise<Done<Value> | NotExecuted> {
  const asked = { call: 'transaction.find', transaction_id: id }
  const looked = await toOutcome(connection, asked, async (exchange): Promise<Outcome<Value>> => {
    const found = await connection.gateway.transaction.find(id)
    const answered = { status: exchange.status, ...describeTransaction(found) }
    const transaction = readTransaction(found)
    const value = transaction?.id === id ? valueOf(transaction) : undefined
    return confirmed(value, asked, answered, 'the answer is implausible')
  })
  return asRead(looked)
}
