// Defines the programs that run concurrently in the model: a worker with a job or an event, the
// sweeper, the reaper, the outcome resolver, and a client's request. Each is the product's own code,
// starting at the function that the process calls.
import { Readable } from 'node:stream'
import type { Request as HttpRequest } from 'express'
import type { Logger } from 'pino'
import { CANCELLATION } from '../../../src/domain/events/provider-event.ts'
import { isConnectionBroken } from '../../../src/db/connection/store-errors.ts'
import { parseId } from '../../../src/domain/resource-id.ts'
import type { Answer } from '../../../src/http/responses/answer.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { createProviders } from '../../../src/provider/providers.ts'
import { stripeCapabilities } from '../../../src/provider/stripe/adapter.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { WorkerParts } from '../../../workers/worker-parts.ts'
import { createCounts } from '../../../src/domain/tenants/tenant-counts.ts'
import type { Value } from '../store/rows.ts'
import { SECOND_PROVIDER, TENANT_ID } from './ids.ts'
import type { Product } from './product.ts'
import type { Environment } from './run.ts'
import type { Settings, Tries } from './settings.ts'
import { API_STORE_TIMEOUT_MS, BATCH_LIMITS, settingsFor } from './settings.ts'

type Program = (environment: Environment) => Promise<void>

/** A client's request. */
export interface ClientRequest {
  readonly key: string
  readonly amountMinor: number
  /** The payment to refund. Without it the request creates a payment. */
  readonly paymentId?: string
  readonly customer?: string
  readonly reference?: string
  /** Whether it has a payment method of the second provider, too. */
  readonly hasFallback?: boolean
  /** Whether it spells a default out. */
  readonly isSpelledOut?: boolean
  /** Whether the API's cache already knows that the key is used. */
  readonly isCachedAsUsed?: boolean
}

export interface Programs {
  /** A worker process that took these jobs together. */
  work(operationIds: readonly string[]): Program
  readonly sweep: Program
  readonly reap: Program
  readonly check: Program
  /** A client cancels the key of this operation, if nothing was executed. */
  prevent(operationId: string): Program
  /** A client cancels a key at the API, which stores an event if something may have been executed. */
  cancel(key: string): Program
  /** A worker applies the event that cancels this operation. */
  apply(operationId: string): Program
  /** An API process to which these requests are sent together. */
  send(requests: readonly ClientRequest[]): Program
}

interface ProgramOptions {
  readonly tries: Tries
  readonly checks: readonly number[]
  readonly provider?: { readonly keyless: boolean }
}

export function programsOf(
  product: Product,
  { tries, checks, provider }: ProgramOptions,
): Programs {
  const settings = settingsFor(tries, checks)
  const withoutKeys = { ...stripeCapabilities, keys: null }
  const capabilities = provider?.keyless ? withoutKeys : stripeCapabilities
  const engineOf = (environment: Environment): Engine => ({
    ...makeEngine(product, settings, environment),
    providers: createProviders([
      { ...environment.provider, capabilities },
      { ...environment.secondProvider, capabilities: withoutKeys },
    ]),
  })
  return {
    work: (operationIds) => async (environment) => {
      const parts = { engine: engineOf(environment) } as unknown as WorkerParts
      await runTogether(environment, operationIds, async (operationId) => {
        const job = { id: 'job', data: { tenantId: TENANT_ID, operationId }, retryCount: 0 }
        return (await product.workOnOperation(parts, job)).status ?? null
      })
    },
    sweep: async (environment) => void (await product.sweep(engineOf(environment))),
    reap: async (environment) => void (await product.reap(engineOf(environment), settings)),
    check: async (environment) => void (await product.resolveDue(engineOf(environment))),
    prevent: (operationId) => async (environment) => {
      const ref = { tenantId: TENANT_ID, id: operationId }
      await product.cancelOperation(engineOf(environment), ref)
    },
    cancel: (key) => async (environment) => {
      const parts = makeApi(product, settings, environment, [])
      const { serve: cancel } = product.keyEndpoints['POST /v1/idempotency-keys/:key/cancel'] ?? {}
      if (cancel?.access !== 'tenant') throw new Error('the API cancels no key')
      await answering(product, environment, () =>
        cancel.endpoint(parts, cancellationOf(key), TENANT_ID),
      )
    },
    apply: (operationId) => async (environment) => {
      const event = { provider: 'stripe', id: `${CANCELLATION}_${operationId}` }
      await product.applyProviderEvent(engineOf(environment), event)
    },
    send: (requests) => async (environment) => {
      const parts = makeApi(product, settings, environment, requests)
      await runTogether(environment, requests, (request) =>
        serve(product, environment, parts, request),
      )
    },
  }
}

async function runTogether<Member>(
  { finish }: Environment,
  members: readonly Member[],
  run: (member: Member) => Promise<Value>,
): Promise<void> {
  await Promise.all(members.map(async (member, index) => finish(index, await run(member))))
}

async function serve(
  product: Product,
  environment: Environment,
  parts: ApiParts,
  request: ClientRequest,
): Promise<Value> {
  const { endpoint } =
    request.paymentId === undefined ? product.createPaymentEndpoint : product.createRefundEndpoint
  return await answering(product, environment, () =>
    endpoint(parts, requestOf(product, request), TENANT_ID),
  )
}

async function answering(
  product: Product,
  environment: Environment,
  serving: () => Promise<Answer>,
): Promise<Value> {
  try {
    return answerOf(await serving())
  } catch (error) {
    const answer = product.problemAnswer(error, 'ietf')
    if (answer.status === 500) environment.reportUnexpected(error, 'the API')
    return answerOf(answer)
  }
}

function makeEngine(product: Product, settings: Settings, environment: Environment): Engine {
  return {
    operations: product.operations,
    store: {
      sql: environment.sql,
      ofTenant: () => environment.sql,
      listen: () => {},
      close: async () => {},
    },
    running: createCounts(),
    claim: product.batchClaims(environment.sql, BATCH_LIMITS),
    record: product.batchRecords(undefined, BATCH_LIMITS),
    providers: createProviders([environment.provider]),
    settings,
    // Time passes only between a request to the environment and its answer.
    clock: { now: () => new Date(0), monotonicMs: environment.now, sleep: () => Promise.resolve() },
    random: () => 0.5,
    announceIdle: () => {},
    observe: product.silentObserver,
    log: reportingLog(environment),
  }
}

const ignore = (): void => {}

function reportingLog({ reportUnexpected }: Environment): Logger {
  const error = ({ err }: { err?: unknown }, what: string): void => {
    if (!isConnectionBroken(err)) reportUnexpected(err, what)
  }
  return { error, warn: ignore, info: ignore, debug: ignore } as unknown as Logger
}

function makeApi(
  product: Product,
  settings: Settings,
  environment: Environment,
  requests: readonly ClientRequest[],
): ApiParts {
  const { operations, batchLookUps, batchReservations } = product
  const cached = new Set(requests.filter((one) => one.isCachedAsUsed).map(({ key }) => key))
  const parts = {
    operations,
    store: { sql: environment.sql },
    keyed: {
      reserve: batchReservations(BATCH_LIMITS),
      findKey: batchLookUps(BATCH_LIMITS),
      recentKeys: { has: (_tenant: string, key: string) => cached.has(key), add: ignore },
      answers: product.noAnswers,
      replays: { count: ignore, stop: () => Promise.resolve() },
    },
    wake: { workers: ignore, eventWorkers: ignore },
    providers: { defaultName: 'stripe', capabilitiesOf: () => stripeCapabilities },
    tenant: { routes: [{ provider: 'stripe' }, { provider: SECOND_PROVIDER }] },
    settings: { ...settings, STORE_TIMEOUT_MS: API_STORE_TIMEOUT_MS },
    limits: {
      slots: { whileArriving: <Body>(_request: unknown, read: () => Body): Body => read() },
      activeKeys: unlimited,
      storedKeys: unlimited,
      storeBreaker: {
        reserving: async <Result>(work: () => Promise<Result>): Promise<Result> => await work(),
      },
    },
    observe: { reserved: ignore },
    log: reportingLog(environment),
  }
  return parts as unknown as ApiParts
}

const unlimited = {
  within: async <Reserved>(
    _tenant: unknown,
    _isKnown: unknown,
    reserve: () => Promise<Reserved>,
  ): Promise<Reserved> => await reserve(),
}

/** The settings let no request wait for its operation; the client retries instead. */
function requestOf(product: Product, request: ClientRequest): HttpRequest {
  const { key, paymentId } = request
  const body = Buffer.from(JSON.stringify(payloadOf(request)))
  const id = paymentId === undefined ? undefined : product.showPaymentId(paymentId)
  const path = id === undefined ? '/v1/payments' : `/v1/payments/${id}/refunds`
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'idempotency-key': key,
  }
  return post(path, { id }, headers, [body])
}

const cancellationOf = (key: string): HttpRequest =>
  post(`/v1/idempotency-keys/${key}/cancel`, { key }, {}, [])

function post(
  path: string,
  params: Readonly<Record<string, string | undefined>>,
  headers: Readonly<Record<string, string>>,
  body: readonly Buffer[],
): HttpRequest {
  const headersDistinct = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value]]),
  )
  const fields = { headers, headersDistinct, method: 'POST', path, originalUrl: path, params }
  return Object.assign(Readable.from(body, { objectMode: false }), fields) as unknown as HttpRequest
}

function payloadOf({
  amountMinor: amount,
  paymentId,
  customer,
  reference,
  hasFallback = false,
  isSpelledOut = false,
}: ClientRequest): object {
  if (paymentId !== undefined) return { amount, reference }
  const spelledOut = isSpelledOut ? { capture_method: 'automatic' } : {}
  const methods = { stripe: 'pm_card_visa', [SECOND_PROVIDER]: 'fake-valid-nonce' }
  const method = hasFallback ? { payment_methods: methods } : { payment_method: methods.stripe }
  return { amount, currency: 'usd', ...method, customer, reference, ...spelledOut }
}

/** What a client keeps of an answer: the exact bytes if the answer is final. */
function answerOf({ status, headers = {}, body }: Answer): Value {
  const isFinal = status !== 202 && status < 500 && !isTransientProblem(String(body))
  return {
    status,
    body: isFinal ? String(body) : null,
    replayed: headers['idempotent-replayed'] !== undefined,
    earlier: headers['idempotency-key-expired'] !== undefined,
    type: status >= 400 ? typeOf(String(body)) : null,
    named: status === 409 ? namedBy(String(body)) : null,
  }
}

/** The id of the payment or refund that a problem names as the earlier one. */
function namedBy(body: string): string | null {
  const { earlier = '' } = JSON.parse(body) as { readonly earlier?: string }
  return parseId('pay', earlier) ?? parseId('re', earlier) ?? null
}

/** Problems after which the client retries. */
const TRANSIENT = new Set(['operation-in-progress', 'outcome-unknown'])

const isTransientProblem = (body: string): boolean => TRANSIENT.has(typeOf(body) ?? '')

function typeOf(body: string): string | null {
  const { type } = JSON.parse(body) as { readonly type?: string }
  return type?.split('/').at(-1) ?? null
}
