// Assembles the Braintree stand-in: a server with the wire format that Braintree's package speaks, what
// it stores in memory, and faults on demand. It behaves as facts.md says, and not more nicely.
import { createServer } from 'node:http'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { createFaultRules } from '../../../dev/stand-in/fault-rules.ts'
import { createHangingConnections } from '../../../dev/stand-in/hanging-connections.ts'
import { createListener, type Address, type Listener } from '../../../dev/stand-in/listener.ts'
import { resetConnection, sendAnswer, type WireAnswer } from '../../../dev/stand-in/wire.ts'
import { createClock, createControlRoutes, type ControlParts } from './control.ts'
import { faults, type FaultName } from './faults/faults.ts'
import { Refusal, refusedWith, XML } from './requests/refusals.ts'
import { createStorage, type Storage, type ApiRequest, type Endpoint } from './storage.ts'
import { enter } from './transactions/transaction.ts'
import { onceByKey } from './requests/request-keys.ts'
import { searchDisputes, searchTransactionIds, searchTransactions } from './requests/searches.ts'
import { renderXml } from './requests/xml.ts'
import { showDispute } from './disputes/dispute.ts'
import {
  adjustAuthorization,
  refundTransaction,
  retrieveTransaction,
  settleTransaction,
  submitForSettlement,
  voidTransaction,
} from './transactions/changes.ts'
import { createSale } from './transactions/sales.ts'

export interface BraintreeStandIn {
  /** Starts to listen and returns the port. Port 0 picks a free one. */
  listen: (address: Address) => Promise<number>
  close: () => Promise<void>
}

type Parts = ControlParts & { readonly listener: Listener }

export function createBraintreeStandIn({ systemNow = Date.now } = {}): BraintreeStandIn {
  const app = express()
  const listener = createListener(createServer(app))
  const hanging = createHangingConnections()
  const parts: Parts = {
    storage: createStorage(),
    clock: createClock(systemNow),
    faultRules: createFaultRules<FaultName>(),
    hanging,
    listener,
  }
  addRoutes(app, parts)
  return {
    listen: listener.listen,
    close: async () => {
      hanging.release()
      await listener.close()
    },
  }
}

function addRoutes(app: Express, parts: Parts): void {
  app.disable('x-powered-by')
  app.use('/_control', createControlRoutes(parts))
  app.use(express.json({ type: () => true }))
  for (const [method, path, endpoint] of apiRoutes) {
    app[method](`/merchants/:merchant${path}`, serve(parts, endpoint))
  }
  app.use(
    serve(parts, () => {
      throw refusedWith(404)
    }),
  )
}

function serve(parts: Parts, endpoint: Endpoint): RequestHandler {
  const { storage, clock, faultRules, listener } = parts
  return async (req, res) => {
    // An open connection must not work while new connections are refused.
    if (listener.isRefusing()) return resetConnection(res)
    res.setHeader('Date', new Date(clock.now()).toUTCString())
    try {
      requireKeys(req)
      const request = readRequest(req, clock.now())
      expireHolds(storage, request.nowMs)
      const injected = faultRules.pick(request)
      const execute = () => answerOf(() => endpoint(request, storage))
      if (injected === undefined) return sendAnswer(res, execute())
      await inject(injected.fault, injected.delayMs, { res, execute }, parts)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendAnswer(res, error.answer)
    }
  }
}

async function inject(
  fault: FaultName,
  delayMs: number,
  { res, execute }: { res: Response; execute: () => WireAnswer },
  { hanging, listener }: Parts,
): Promise<void> {
  const released = hanging.signal()
  try {
    await faults[fault]({
      res,
      delayMs,
      execute,
      whileInFlight: (work) => work(),
      refuseConnections: listener.refuseFor,
      released,
    })
  } catch (error) {
    // Work that waits for `released` rejects when it is aborted: the connection must be closed.
    if (!released.aborted) throw error
    res.destroy()
  }
}

/** A refusal is an answer, too: it has written nothing. */
function answerOf(execute: () => WireAnswer): WireAnswer {
  try {
    return execute()
  } catch (error) {
    if (error instanceof Refusal) return error.answer
    throw error
  }
}

/** @throws Refusal 401 without keys, or with the private key `wrong`. */
function requireKeys({ headers }: Request): void {
  const [, encoded = ''] = /^Basic +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  const [publicKey, privateKey] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  if (!publicKey || !privateKey || privateKey === 'wrong') throw refusedWith(401)
}

function readRequest({ method, path, params, query, body }: Request, nowMs: number): ApiRequest {
  const sent = (body ?? {}) as Record<'transaction' | 'search', Record<string, unknown> | undefined>
  const members = sent.transaction ?? sent.search ?? {}
  const paymentMethod = members['payment_method_nonce'] ?? members['payment_method_token']
  return {
    method,
    path: path.replace(/^\/merchants\/[^/]+/, ''),
    id: String(params['id'] ?? ''),
    body: members,
    query,
    params: { payment_method: paymentMethod },
    nowMs,
  }
}

/** Expires the authorizations whose time is over. */
function expireHolds({ transactions }: Storage, nowMs: number): void {
  for (const transaction of transactions.values()) {
    const { status, expiresAt } = transaction
    const isOver = expiresAt !== null && expiresAt.getTime() <= nowMs
    if (status === 'authorized' && isOver) enter(transaction, 'authorization_expired', nowMs)
  }
}

const retrieveDispute: Endpoint = ({ id }, { disputes }) => {
  const dispute = disputes.get(id)
  if (dispute === undefined) throw refusedWith(404)
  return { status: 200, body: renderXml('dispute', showDispute(dispute)), contentType: XML }
}

/** Each account of the merchant is named after its currency: `eur_account`. */
const retrieveMerchantAccount: Endpoint = ({ id }) => {
  const [, currency] = /^([a-z]{3})_account$/.exec(id) ?? []
  if (currency === undefined) throw refusedWith(404)
  const account = { id, currencyIsoCode: currency.toUpperCase(), status: 'active' }
  return { status: 200, body: renderXml('merchantAccount', account), contentType: XML }
}

/** Below the merchant. Any other route is a 404. */
const apiRoutes: readonly (readonly ['get' | 'post' | 'put', path: string, Endpoint])[] = [
  ['post', '/transactions', onceByKey(createSale)],
  ['post', '/transactions/advanced_search_ids', searchTransactionIds],
  ['post', '/transactions/advanced_search', searchTransactions],
  ['get', '/transactions/:id', retrieveTransaction],
  ['put', '/transactions/:id/submit_for_settlement', onceByKey(submitForSettlement)],
  ['put', '/transactions/:id/adjust_authorization', adjustAuthorization],
  ['put', '/transactions/:id/void', onceByKey(voidTransaction)],
  ['post', '/transactions/:id/refund', onceByKey(refundTransaction)],
  ['put', '/transactions/:id/settle', settleTransaction],
  ['post', '/disputes/advanced_search', searchDisputes],
  ['get', '/disputes/:id', retrieveDispute],
  ['get', '/merchant_accounts/:id', retrieveMerchantAccount],
]
