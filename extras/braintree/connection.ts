// The connection that every call to Braintree uses: the package, and the time limit for an answer.
import type { Outcome } from '../../src/domain/operations/outcome.ts'
import type { CallDescription } from '../../src/provider/call-outcomes.ts'
import { withinTimeLimit, type TimeLimits } from '../../src/provider/deadline.ts'
import { classifyBraintreeError } from './errors.ts'
import type { Exchange, WatchedAgent } from './http/watched-agent.ts'

/**
 * The parts of the package that are used. Its types are those of an older version, and describe
 * answers that a server need not give.
 */
export interface Gateway {
  readonly config: { timeout: number; baseMerchantPath(): string }
  readonly http: { post(path: string, body: object): Promise<unknown> }
  readonly transaction: {
    sale(sale: object): Promise<unknown>
    submitForSettlement(id: string, amount: string, options: object): Promise<unknown>
    adjustAuthorization(id: string, amount: string): Promise<unknown>
    void(id: string, options: object): Promise<unknown>
    refund(id: string, options: object): Promise<unknown>
    find(id: string): Promise<unknown>
  }
  readonly dispute: { find(id: string): Promise<unknown> }
  readonly merchantAccount: { find(id: string): Promise<unknown> }
}

export interface Connection extends TimeLimits {
  readonly gateway: Gateway
  readonly watch: WatchedAgent['watch']
  /** Whether calls have a request key. */
  readonly sendsKeys: boolean
  /** Which account of the merchant takes payments in each currency, in lower case. */
  readonly merchantAccounts: ReadonlyMap<string, string>
  /** After this time a search shows every transaction, in milliseconds. */
  readonly searchLagMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Makes a call within the time limit, and turns errors into outcomes. */
export async function toOutcome<Value>(
  connection: Connection,
  asked: CallDescription,
  call: (exchange: Exchange) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const exchange: Exchange = {}
  try {
    return await within(connection, exchange, () => call(exchange))
  } catch (error) {
    return classifyBraintreeError(error, exchange, asked)
  }
}

/** @throws CallTimeoutError, or what the package throws. */
export async function within<Value>(
  connection: Connection,
  exchange: Exchange,
  call: () => Promise<Value>,
): Promise<Value> {
  return await withinTimeLimit(connection, () => connection.watch(exchange, call))
}
