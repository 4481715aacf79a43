// Sends the requests of a run through the typed client and records the answers. With faults, some
// tries hang up before their answer; the client then retries with the same key.
import { createHash } from 'node:crypto'
import type { Retry } from '../../client/retry.ts'
import { NoAnswerError, readProblem } from '../../client/errors.ts'
import { type Client, createClient } from '../../client/index.ts'
import { addCount, type Counts } from './counts.ts'
import type { Answer, RequestContent } from './history.ts'
import type { Patience } from './plans.ts'
import type { Random } from './random.ts'

export type Figures = ReturnType<typeof startFigures>

export function startFigures() {
  const retries: Counts = new Map()
  // Each try counts as a request. A drop is a connection that a client has dropped.
  return { retries, requests: 0, replays: 0, drops: 0 }
}

function reasonOf({ after }: Retry): string {
  if (after.kind === 'no_answer') return 'no answer'
  return `${after.status} ${after.problem ?? 'no problem'}`
}

export type Sender = ReturnType<typeof createSender>

interface SendOptions {
  readonly patience: Patience
  readonly signal?: AbortSignal | undefined
}

/**
 * Longer than a request waits for its result, and longer than the service tries a provider call.
 */
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
  /** Percentage of tries that the client drops. */
  readonly dropPercent: () => number
  readonly random: Random
  /** Called with the headers and the body of each answer. */
  readonly heard?: (text: string) => void
  /** Failed tries after which the client gives a request up. */
  readonly maxFailures?: number
}

export function createSender(options: SenderOptions) {
  const { baseUrl, apiKey, figures } = options
  const client = createClient({
    baseUrl,
    apiKey,
    fetch: fetchOnce(options),
    retry: {
      tryTimeoutMs: TRY_LIMIT_MS,
      deadlineMs: CALL_LIMIT_MS,
      ...(options.maxFailures !== undefined && { maxFailures: options.maxFailures }),
      maxDelayMs: 2_000,
      onRetry: (retry) => addCount(figures.retries, reasonOf(retry)),
    },
  })
  return {
    client,
    /** Sends a request. Returns undefined if no try got an answer. */
    async send(
      content: RequestContent,
      key: string,
      { patience, signal }: SendOptions,
    ): Promise<Answer | undefined> {
      const reply = await post(client, content, key, PREFERENCES[patience], signal)
      if (reply === undefined) return undefined
      const answer = readAnswer(reply)
      if (answer.isReplay) figures.replays += 1
      return answer
    },
  }
}

/** The answer of any call, without its specific types. */
interface Reply {
  readonly data?: unknown
  readonly error?: unknown
  readonly response: Response
}

async function post(
  client: Client,
  content: RequestContent,
  idempotencyKey: string,
  prefer: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Reply | undefined> {
  const [path, body] = routeOf(content)
  const call = {
    idempotencyKey,
    ...(signal === undefined ? {} : { signal }),
    params: {
      header: prefer === undefined ? {} : { Prefer: prefer },
      path: { id: 'paymentId' in content ? content.paymentId : '' },
    },
    body,
  }
  try {
    // The types of the client cannot know a route that is data.
    return await client.POST(path as '/v1/payments/{id}/capture', call as never)
  } catch (error) {
    // `awaitFinalAnswers` finds out the result, with the same key.
    if (error instanceof NoAnswerError || signal?.aborted === true) return undefined
    throw error
  }
}

function routeOf(content: RequestContent): [path: string, body?: object] {
  switch (content.kind) {
    case 'payment.create':
      return ['/v1/payments', content.body]
    case 'payment.capture':
      return ['/v1/payments/{id}/capture', { amount: content.amount }]
    case 'payment.cancel':
      return ['/v1/payments/{id}/cancel']
    case 'refund.create':
      return ['/v1/payments/{id}/refunds', content.body]
    case 'operation':
      return [content.path.replace(':id', '{id}'), content.body]
  }
}

function readAnswer({ data, error, response: { status, headers } }: Reply): Answer {
  const body: unknown = data ?? error
  const members: Answer['resource'] & Pick<Answer, 'earlier'> =
    typeof body === 'object' && body !== null ? body : {}
  return {
    status,
    resource: members,
    digest: headers.get(DIGEST) ?? '',
    isReplay: headers.get('idempotent-replayed') === 'true',
    problem: status < 400 ? undefined : readProblem(body).problem,
    ...(members.earlier !== undefined && { earlier: members.earlier }),
  }
}

/** The longest time that a client waits before it hangs up. */
const LISTENING_MS = 40

/** Header added below: the client returns parsed bodies, but the invariants compare bytes. */
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
      hangup.abort(new Error('the client hung up'))
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
