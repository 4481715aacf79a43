// Defines the subjects of the benchmark: the limits that PostgreSQL and Express set, the service's
// requests, and the peer.
import { randomUUID } from 'node:crypto'
import type { Sql } from '../../src/db/connection/client.ts'
import type { Child } from '../child.ts'
import { anyOf } from '../requests.ts'
import type { BenchTenant } from '../stack.ts'
import type { LoopCommand, LoopReport } from './compared/closed-loop.ts'
import { measureHotKey } from './hot-key.ts'
import { runLoad, type Answers, type LoadRequest } from './load.ts'
import {
  authorize,
  authorized,
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
  /** @param owner the database, with its owner's login. */
  readonly run: (place: Place, concurrency: number, seconds: number, owner: Sql) => Promise<Answers>
}

export const subjects = [
  {
    name: 'lean_intent',
    title: 'lean intent: key, payment, job',
    pausesWorker: true,
    run: (place, concurrency, seconds) => loop(place, 'intent', concurrency, seconds),
  },
  {
    name: 'lean_payment',
    title: 'lean payment: six commits',
    pausesWorker: true,
    run: (place, concurrency, seconds) => loop(place, 'payment', concurrency, seconds),
  },
  {
    name: 'express',
    title: 'Express alone: POST, a body of the same size',
    run: (place, concurrency, seconds) =>
      load(place, { url: place.bareUrl ?? '', concurrency, seconds, expected: 202 }, () =>
        post('/express', {}),
      ),
  },
  {
    name: 'select',
    title: 'Express and one prepared SELECT of a key',
    run: (place, concurrency, seconds) =>
      load(place, { url: place.bareUrl ?? '', concurrency, seconds, expected: 201 }, () =>
        post('/select', {
          tenant: place.tenant.id,
          'idempotency-key': anyOf(place.completed).key,
        }),
      ),
  },
  {
    name: 'provider',
    title: 'Stripe stand-in alone: one call',
    run: authorizeAtProvider,
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
    run: (place, concurrency, seconds) =>
      load(place, { url: place.unkeyedUrl ?? '', concurrency, seconds, expected: 202 }, () =>
        post('/unkeyed/payments', authorized(place.tenant)),
      ),
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
    run: (place, concurrency, seconds) =>
      load(place, { url: place.apiUrl, concurrency, seconds, expected: 201 }, () =>
        post('/v1/payments', keyed(place.tenant, anyOf(place.completed).key)),
      ),
  },
  {
    name: 'get',
    title: 'GET of a payment',
    run: (place, concurrency, seconds) =>
      load(place, { url: place.apiUrl, concurrency, seconds, expected: 200 }, () => get(place)),
  },
  {
    name: 'mixed',
    title: 'mixed: a payment, a replay, two GETs',
    run: mixed,
  },
  {
    name: 'dbos',
    title: 'DBOS Transact: the same payment, waiting',
    run: (place, concurrency, seconds) =>
      load(place, { url: place.dbosUrl ?? '', concurrency, seconds, expected: 201 }, () =>
        post('/payments', { 'idempotency-key': randomUUID() }),
      ),
  },
] as const satisfies readonly Subject[]

export type SubjectName = (typeof subjects)[number]['name']

export function subjectNamed(name: SubjectName): Subject & { readonly name: SubjectName } {
  const subject = subjects.find((one) => one.name === name)
  if (subject === undefined) throw new Error(`there is no subject ${name}`)
  return subject
}

type Target = Pick<Parameters<typeof runLoad>[0], 'url' | 'concurrency' | 'seconds' | 'expected'>

function load({ signal }: Place, target: Target, next: () => LoadRequest): Promise<Answers> {
  return runLoad({ ...target, next, signal })
}

async function loop(
  place: Place,
  what: LoopCommand['what'],
  concurrency: number,
  seconds: number,
): Promise<Answers> {
  if (place.lean === undefined) throw new Error('no process runs the lean statements')
  const report = await place.lean.ask({ what, tenantId: place.tenant.id, concurrency, seconds })
  return { ...report, unexpected: 0, non2xx: 0 }
}

/** Makes one call after the other at the provider, without the service. */
function authorizeAtProvider(
  { providerUrl, signal }: Pick<Place, 'providerUrl' | 'signal'>,
  concurrency: number,
  seconds: number,
): Promise<Answers> {
  return runLoad({ url: providerUrl, concurrency, seconds, expected: 200, next: authorize, signal })
}

function accept(place: Place, concurrency: number, seconds: number): Promise<Answers> {
  return load(place, { url: place.apiUrl, concurrency, seconds, expected: 202 }, () =>
    post('/v1/payments', { ...keyed(place.tenant, randomUUID()), prefer: 'respond-async' }),
  )
}

export function payUntilSucceeded(
  place: Place,
  concurrency: number,
  seconds: number,
): Promise<Answers> {
  return load(place, { url: place.apiUrl, concurrency, seconds, expected: 201 }, () =>
    payAndWait(place.tenant),
  )
}

/** Accepts every 2xx, because GET and POST answer with different ones. */
function mixed(place: Place, concurrency: number, seconds: number): Promise<Answers> {
  let turn = 0
  const next = () => {
    turn += 1
    if (turn % 4 === 1) return post('/v1/payments', keyed(place.tenant, randomUUID()))
    if (turn % 4 === 3) return post('/v1/payments', keyed(place.tenant, anyOf(place.completed).key))
    return get(place)
  }
  return load(place, { url: place.apiUrl, concurrency, seconds, expected: 'any' }, next)
}

function get({ tenant, completed }: Place): LoadRequest {
  return {
    method: 'GET',
    path: `/v1/payments/${anyOf(completed).paymentId}`,
    headers: authorized(tenant),
  }
}
