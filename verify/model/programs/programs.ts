// The programs that run side by side in the model, each the product's own from the function by which the process
// enters it: a worker with a job, the sweeper, the reaper, the reconciler, and a request of a client.
import { Readable } from 'node:stream'
import type { Request as HttpRequest } from 'express'
import type { Logger } from 'pino'
import { isConnectionBroken } from '../../../src/db/connection/store-errors.ts'
import type { Answer } from '../../../src/http/responses/answer.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { WorkerParts } from '../../../workers/jobs.ts'
import type { Value } from '../store/rows.ts'
import { TENANT_ID } from './ids.ts'
import type { Product } from './product.ts'
import type { World } from './run.ts'
import { API_STORE_TIMEOUT_MS, settingsFor, type Settings, type Tries } from './settings.ts'

export type Program = (world: World) => Promise<Value>

/** What a client sends. */
export interface Sent {
  readonly key: string
  readonly amountMinor: number
  /** The payment to be refunded; without it a payment is made. */
  readonly paymentId?: string
  /** Whether the API remembers that the key is taken. */
  readonly isSeen?: boolean
}

export interface Programs {
  work(operationId: string): Program
  readonly sweep: Program
  readonly reap: Program
  readonly check: Program
  send(sent: Sent): Program
}

export function programsOf(
  product: Product,
  { tries, checks }: { readonly tries: Tries; readonly checks: readonly number[] },
): Programs {
  const settings = settingsFor(tries, checks)
  const engineOf = (world: World) => makeEngine(product, settings, world)
  return {
    work: (operationId) => async (world) => {
      const parts = { engine: engineOf(world) } as unknown as WorkerParts
      const job = { id: 'job', data: { tenantId: TENANT_ID, operationId } }
      const { status } = await product.workOnOperation(parts, job as never)
      return status ?? null
    },
    sweep: async (world) => await product.sweep(engineOf(world)),
    reap: async (world) => ({ ...(await product.reap(engineOf(world), settings)) }),
    check: async (world) => await product.checkDue(engineOf(world)),
    send: (sent) => async (world) => {
      const parts = makeApi(product, settings, world, sent)
      const endpoint =
        sent.paymentId === undefined ? product.createPaymentEndpoint : product.createRefundEndpoint
      try {
        return shown(await endpoint.endpoint(parts, requestOf(product, sent), TENANT_ID))
      } catch (error) {
        const answer = product.problemAnswer(error, 'ietf')
        if (answer.status === 500) world.complain(error, 'the API')
        return shown(answer)
      }
    },
  }
}

function makeEngine(product: Product, settings: Settings, world: World): Engine {
  return {
    operations: product.operations,
    store: { sql: world.sql, listen: () => {}, close: async () => {} },
    claim: product.gatherClaims(world.sql),
    provider: world.provider,
    settings,
    // Time passes between what is asked and what is answered, and nowhere else.
    clock: { now: () => new Date(0), monotonicMs: world.now, sleep: () => Promise.resolve() },
    random: () => 0.5,
    announceSettled: () => {},
    observe: product.silentObserver,
    log: complainingLog(world),
  }
}

const ignore = (): void => {}

function complainingLog({ complain }: World): Logger {
  const error = ({ err }: { err?: unknown }, what: string): void => {
    if (!isConnectionBroken(err)) complain(err, what)
  }
  return { error, warn: ignore, info: ignore, debug: ignore } as unknown as Logger
}

function makeApi(
  { operations }: Product,
  settings: Settings,
  world: World,
  { isSeen = false }: Sent,
): ApiParts {
  const parts = {
    operations,
    store: { sql: world.sql },
    recentKeys: { has: () => isSeen, add: ignore },
    wakeWorkers: ignore,
    providerName: 'stripe',
    settings: { ...settings, STORE_TIMEOUT_MS: API_STORE_TIMEOUT_MS },
    limits: {
      places: { whileArriving: <Body>(_request: unknown, read: () => Body): Body => read() },
      activeKeys: {
        within: async <Reserved>(
          _tenantId: string,
          _isKnown: unknown,
          reserve: () => Promise<Reserved>,
        ): Promise<Reserved> => await reserve(),
      },
      storeBreaker: {
        reserving: async <Made>(work: () => Promise<Made>): Promise<Made> => await work(),
      },
    },
    observe: { reserved: ignore },
    log: complainingLog(world),
  }
  return parts as unknown as ApiParts
}

/** Nobody waits for an answer here: the client comes back. */
function requestOf(product: Product, { key, amountMinor, paymentId }: Sent): HttpRequest {
  const asked =
    paymentId === undefined
      ? { amount: amountMinor, currency: 'usd', payment_method: 'pm_card_visa' }
      : { amount: amountMinor }
  const body = Buffer.from(JSON.stringify(asked))
  const id = paymentId === undefined ? undefined : product.showPaymentId(paymentId)
  const path = id === undefined ? '/v1/payments' : `/v1/payments/${id}/refunds`
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'idempotency-key': key,
    prefer: 'respond-async',
  }
  const headersDistinct = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value]]),
  )
  const about = {
    headers,
    headersDistinct,
    method: 'POST',
    path,
    originalUrl: path,
    params: { id },
  }
  return Object.assign(
    Readable.from([body], { objectMode: false }),
    about,
  ) as unknown as HttpRequest
}

/** What a client keeps of an answer: of one that is final the very bytes. */
function shown({ status, headers = {}, body }: Answer): Value {
  const isFinal = status !== 202 && status < 500 && !isPassingProblem(String(body))
  return {
    status,
    body: isFinal ? String(body) : null,
    replayed: headers['idempotent-replayed'] !== undefined,
    earlier: headers['idempotency-key-expired'] !== undefined,
    type: status >= 400 ? typeOf(String(body)) : null,
  }
}

/** What the client is to ask again about. */
const PASSING = new Set(['operation-in-progress', 'outcome-unknown'])

const isPassingProblem = (body: string): boolean => PASSING.has(typeOf(body) ?? '')

function typeOf(body: string): string | null {
  const { type } = JSON.parse(body) as { readonly type?: string }
  return type?.split('/').at(-1) ?? null
}
