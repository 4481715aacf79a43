// The run's clients: each request goes through the typed client, and what comes back is kept as it came.
// With faults, some hang up while a try is under way; the client comes back with the same key.
import { createHash } from 'node:crypto'
import { NoAnswerError, readProblem } from '../../client/errors.ts'
import { createClient, type Client } from '../../client/index.ts'
import { countLatency, countRetry, type Figures } from './figures.ts'
import type { Answer, Wish } from './history.ts'
import type { Patience } from './plans.ts'
import type { Random } from './random.ts'

export interface Sender {
  readonly client: Client
  /** Sends a request; undefined when no try brought an answer. */
  send(wish: Wish, key: string, options: SendOptions): Promise<Answer | undefined>
}

export interface SendOptions {
  readonly patience: Patience
  /** Under which name its latency is counted, if at all. */
  readonly timedAs?: string
  readonly signal?: AbortSignal | undefined
}

/** More than a request waits for its result, and than the service takes to give up on its provider. */
const TRY_LIMIT_MS = 15_000
const CALL_LIMIT_MS = 20_000

const PREFERENCES: Readonly<Record<Patience, string | undefined>> = {
  usual: undefined,
  wait: 'wait=10',
  respond_async: 'respond-async',
}

export interface SenderOptions {
  readonly baseUrl: string
  readonly apiKey: string
  readonly figures: Figures
  /** Of a hundred tries, so many are dropped by their client. */
  readonly dropPercent: () => number
  readonly random: Random
  /** Told of everything that comes back, as it came. */
  readonly heard?: (text: string) => void
}

export function createSender(options: SenderOptions): Sender {
  const { baseUrl, apiKey, figures } = options
  const client = createClient({
    baseUrl,
    apiKey,
    fetch: fetchOnce(options),
    retry: {
      tryTimeoutMs: TRY_LIMIT_MS,
      deadlineMs: CALL_LIMIT_MS,
      maxDelayMs: 2_000,
      onRetry: (retry) => countRetry(figures, retry),
    },
  })
  return {
    client,
    async send(wish, key, { patience, timedAs, signal }) {
      const startedMs = performance.now()
      const reply = await post(client, wish, key, PREFERENCES[patience], signal)
      if (reply === undefined) return undefined
      if (timedAs !== undefined) countLatency(figures, timedAs, performance.now() - startedMs)
      const answer = readAnswer(reply)
      if (answer.isReplay) figures.replays += 1
      return answer
    },
  }
}

/** What the client answers, its types left out: which call it was is not looked at. */
interface Reply {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

async function post(
  client: Client,
  wish: Wish,
  idempotencyKey: string,
  prefer: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Reply | undefined> {
  const header = prefer === undefined ? {} : { Prefer: prefer }
  const call = { idempotencyKey, ...(signal === undefined ? {} : { signal }) }
  try {
    if (wish.kind === 'payment.create') {
      const { body } = wish
      return await client.POST('/v1/payments', { ...call, params: { header }, body })
    }
    const params = { header, path: { id: wish.paymentId } }
    switch (wish.kind) {
      case 'payment.capture': {
        const body = { amount: wish.amount }
        const path = '/v1/payments/{id}/capture'
        return await client.POST(path, { ...call, params, body })
      }
      case 'payment.cancel':
        return await client.POST('/v1/payments/{id}/cancel', { ...call, params })
      case 'refund.create': {
        const { body } = wish
        const path = '/v1/payments/{id}/refunds'
        return await client.POST(path, { ...call, params, body })
      }
    }
  } catch (error) {
    // What has become of it is asked at the end, under the same key.
    if (error instanceof NoAnswerError || signal?.aborted === true) return undefined
    throw error
  }
}

function readAnswer({ data, error, response: { status, headers } }: Reply): Answer {
  const body: unknown = data ?? error
  return {
    status,
    resource: typeof body === 'object' && body !== null ? body : {},
    digest: headers.get(DIGEST) ?? '',
    isReplay: headers.get('idempotent-replayed') === 'true',
    problem: status < 400 ? undefined : readProblem(body).problem,
  }
}

/** The longest that a client that is going to hang up listens. */
const LISTENING_MS = 40

/** Of our own making: the client gives out what it has parsed, and equal answers are equal bytes. */
const DIGEST = 'simulate-body-digest'

function fetchOnce({ figures, dropPercent, random, heard }: SenderOptions) {
  return async (request: Request): Promise<Response> => {
    figures.requests += 1
    const drops = request.method === 'POST' && random.percent(dropPercent())
    if (!drops) return await readWhole(await fetch(request), heard)
    const hangup = new AbortController()
    const signal = AbortSignal.any([request.signal, hangup.signal])
    const listening = setTimeout(() => {
      figures.drops += 1
      hangup.abort(new Error('the client has hung up'))
    }, random.below(LISTENING_MS))
    try {
      return await readWhole(await fetch(new Request(request, { signal })), heard)
    } finally {
      clearTimeout(listening)
    }
  }
}

async function readWhole(response: Response, heard: SenderOptions['heard']): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  heard?.(JSON.stringify([...headers]) + new TextDecoder().decode(bytes))
  headers.set(DIGEST, createHash('sha256').update(bytes).digest('base64'))
  return new Response(bytes, { status, statusText, headers })
}
