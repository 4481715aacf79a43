// Watches the requests of the braintree package, which keeps for itself what an outcome depends on: it
// turns every error of a connection into a text, and names no status of an answer. Nothing is sent
// after its deadline.
import { AsyncLocalStorage } from 'node:async_hooks'
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { lookupBy, type Resolve } from '../../../src/names/resolver.ts'
import type { ProviderClock } from '../../../src/provider/guards.ts'
import { connectBeforeSending, refuseLateRequest } from '../../../src/provider/deadline.ts'

/** What one call of the package met. */
export interface Exchange {
  /** The status of the answer. */
  status?: number | undefined
  /** The error of the connection. */
  failure?: unknown
}

export interface WatchedAgent {
  readonly agent: HttpAgent
  /** Runs a call, and notes in `exchange` what its request meets. */
  readonly watch: <Value>(exchange: Exchange, call: () => Promise<Value>) => Promise<Value>
}

/** The method of an agent that receives every request. It has no type, but many packages replace it. */
interface Receiving {
  addRequest: (request: ClientRequest, ...others: unknown[]) => void
}

/**
 * @param options.resolve finds the addresses of Braintree's name; by default as the system does.
 * @param options.clock notes the Date of each answer.
 */
export function createWatchedAgent(
  ssl: boolean,
  { resolve, clock }: { readonly resolve?: Resolve; readonly clock?: ProviderClock },
): WatchedAgent {
  const exchanges = new AsyncLocalStorage<Exchange>()
  const options = { keepAlive: true, ...(resolve && { lookup: lookupBy(resolve) }) }
  const agent = ssl
    ? connectBeforeSending(new HttpsAgent(options), 'secureConnect')
    : connectBeforeSending(new HttpAgent(options), 'connect')
  const receiving = agent as unknown as Receiving
  const addRequest = receiving.addRequest.bind(agent)
  receiving.addRequest = (request, ...others) => {
    // A connection that is kept alive is used at once.
    refuseLateRequest()
    watchRequest(request, exchanges.getStore() ?? {}, clock)
    addRequest(request, ...others)
  }
  return { agent, watch: (exchange, call) => exchanges.run(exchange, call) }
}

function watchRequest(request: ClientRequest, exchange: Exchange, clock?: ProviderClock): void {
  request.prependListener('error', (failure) => {
    exchange.failure ??= failure
  })
  request.prependOnceListener('response', (response) => {
    exchange.status = response.statusCode
    clock?.note(response.headers.date)
    parseOnlyXml(response)
  })
}

/**
 * Makes the package return any other answer as it is. JSON that is malformed would throw an uncaught
 * exception, which ends the process.
 */
function parseOnlyXml({ headers }: IncomingMessage): void {
  if (!headers['content-type']?.startsWith('application/xml')) delete headers['content-type']
}
