// Defines the subjects of the benchmark: the limits that PostgreSQL and Express set, the service's
// requests, and the peer.
import { randomUUID } from 'node:crypto'
import type { Sql } from '../../src/db/connection/client.ts'
import type { Child } from '../child.ts'
import type { BenchTenant } from '../stack.ts'
import type { LoopCommand, LoopReport } from './compared/lean-main.ts'
import { measureHotKey } from './hot-key.ts'
import { runLoad, type Answers, type Load, type LoadRequest } from './load.ts'
import {
  anyOf,
  authorize,
  authorized,
  getOf,
  keyed,
  payAndWait,
  post,
  type CompletedKey,
} from './payment-requests.ts'

type LoopProcess = Child<LoopCommand, LoopReport>

export interface Place {
  readonly apiUrl: string
  readonly providerUrl: string
  /** These are absent when no subject needs them. */
  readonly bareUrl?: string | undefined
  readonly unkeyedUrl?: string | undefined
  readonly dbosUrl?: string | undefined
  readonly lean?: LoopProcess
  /** The tenant that makes the payments. */
  readonly tenant: BenchTenant
  /** Completed keys to replay, and their payments to read. */
  readonly completed: readonly CompletedKey[]
  readonly signal: AbortSignal
}

export interface Subject {
  readonly name: string
  readonly title: string
  /**
   * Whether the worker is paused, so that only accepting is measured. Unfinished operations are
   * deleted.
   */
  readonly pausesWorker?: boolean
  /** Whether row-level security is turned off during the measurement. */
  readonly withoutRowSecurity?: boolean
  /** The only number of clients to measure, when it is always the same. */
  readonly clients?: number
  readonly run: Run
}

/** @param owner the database, with its owner's login. */
type Run = (place: Place, concurrency: number, seconds: number, owner: Sql) => Promise<Answers>

type UrlName = 'apiUrl' | 'providerUrl' | 'bareUrl' | 'unkeyedUrl' | 'dbosUrl'

/** Sends requests to one of the servers, and expects the status. */
function loadOf(url: UrlName, expected: Load['expected'], next: (place: Place) => LoadRequest) {
  return (place: Place, concurrency: number, seconds: number): Promise<Answers> =>
    runLoad({
      url: place[url] ?? '',
      concurrency,
      seconds,
      expected,
      next: () => next(place),
      signal: place.signal,
    })
}

/** Runs lean statements. */
function leanOf(what: LoopCommand['what']): Run {
  return async ({ lean, tenant }, concurrency, seconds) => {
    if (lean === undefined) throw new Error('no process runs the lean statements')
    const report = await lean.ask({ what, tenantId: tenant.id, concurrency, seconds })
    return { ...report, unexpected: 0, non2xx: 0 }
  }
}

const accept = loadOf('apiUrl', 202, ({ tenant }) =>
  post('/v1/payments', { ...keyed(tenant, randomUUID()), prefer: 'respond-async' }),
)

export const payUntilSucceeded = loadOf('apiUrl', 201, ({ tenant }) => payAndWait(tenant))

const replay = ({ tenant, completed }: Place) =>
  post('/v1/payments', keyed(tenant, anyOf(completed).key))

const get = ({ tenant, completed }: Place) => getOf(tenant, anyOf(completed).paymentId)

let turn = 0

function mixed(place: Place): LoadRequest {
  turn += 1
  if (turn % 4 === 1) return payAndWait(place.tenant)
  return turn % 4 === 3 ? replay(place) : get(place)
}

export const subjects = [
  {
    name: 'lean_intent',
    title: 'lean intent: key, payment, job',
    pausesWorker: true,
    run: leanOf('intent'),
  },
  {
    name: 'lean_payment',
    title: 'lean payment: six commits',
    pausesWorker: true,
    run: leanOf('payment'),
  },
  {
    name: 'express',
    title: 'Express alone: POST, a body of the same size',
    run: loadOf('bareUrl', 202, () => post('/express', {})),
  },
  {
    name: 'select',
    title: 'Express and one prepared SELECT of a key',
    run: loadOf('bareUrl', 201, ({ tenant, completed }) =>
      post('/select', { tenant: tenant.id, 'idempotency-key': anyOf(completed).key }),
    ),
  },
  {
    name: 'provider',
    title: 'Stripe stand-in alone: one call',
    run: loadOf('providerUrl', 200, authorize),
  },
  {
    name: 'accept',
    title: 'accept: POST, respond-async',
    pausesWorker: true,
    run: accept,
  },
  {
    name: 'accept_unwalled',
    title: 'accept, without row-level security',
    pausesWorker: true,
    withoutRowSecurity: true,
    run: accept,
  },
  {
    name: 'accept_unkeyed',
    title: 'accept, without idempotency',
    pausesWorker: true,
    run: loadOf('unkeyedUrl', 202, ({ tenant }) => post('/unkeyed/payments', authorized(tenant))),
  },
  {
    name: 'hot_key',
    title: 'accept: 64 requests with one key at once',
    pausesWorker: true,
    clients: 64,
    run: measureHotKey,
  },
  {
    name: 'pay_wait',
    title: 'pay and wait: POST until success',
    run: payUntilSucceeded,
  },
  {
    name: 'pay_wait_unwalled',
    title: 'pay and wait, without row-level security',
    withoutRowSecurity: true,
    run: payUntilSucceeded,
  },
  {
    name: 'replay',
    title: 'replay: POST with a completed key',
    run: loadOf('apiUrl', 201, replay),
  },
  {
    name: 'get',
    title: 'GET of a payment',
    run: loadOf('apiUrl', 200, get),
  },
  {
    name: 'mixed',
    title: 'mixed: a payment, a replay, two GETs',
    // GET and POST are answered with different ones.
    run: loadOf('apiUrl', 'any', mixed),
  },
  {
    name: 'dbos',
    title: 'DBOS Transact: the same payment, waiting',
    run: loadOf('dbosUrl', 201, () => post('/payments', { 'idempotency-key': randomUUID() })),
  },
] as const satisfies readonly Subject[]

export type SubjectName = (typeof subjects)[number]['name']

export function subjectNamed(name: SubjectName): Subject & { readonly name: SubjectName } {
  const subject = subjects.find((one) => one.name === name)
  if (subject === undefined) throw new Error(`there is no subject ${name}`)
  return subject
}
