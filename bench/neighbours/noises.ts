// Defines the noises of tenant A, each with a level that grows step by step. The level 0 of each is
// silence: tenant B alone.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/queues.ts'
import type { Child } from '../child.ts'
import { send, type Reply } from '../requests.ts'
import { PAYMENT } from '../speed/payment-requests.ts'
import { removeUnfinished } from '../speed/unfinished.ts'
import type { BenchTenant } from '../stack.ts'
import type { GuessesCommand, GuessesReport } from './guesses-main.ts'
import type { NoiseName } from './levels.ts'
import { untilQuiet } from './quiet.ts'
import type { Receiver } from './receiver.ts'

export type Guesses = Child<GuessesCommand, GuessesReport>

export interface NoiseParts {
  readonly apiUrl: string
  readonly owner: Sql
  readonly noisy: BenchTenant
  readonly receiver: Receiver
  readonly guesses: Guesses
  readonly signal: AbortSignal
}

export interface Noise {
  readonly name: NoiseName
  readonly title: string
  /** The name of a level, with its unit. */
  readonly unit: string
  /** How long the provider takes for each call that moves money, beside its own time. */
  readonly providerMs: number
  /** Starts the noise, and returns when it is complete. The result ends it. */
  readonly start: (parts: NoiseParts, level: number) => Promise<() => Promise<void>>
}

export const noises: readonly Noise[] = [
  {
    name: 'backlog',
    title: 'A has a backlog, the provider takes 200 ms longer',
    unit: 'waiting operations',
    providerMs: 200,
    start: keepBacklog,
  },
  {
    name: 'hanging',
    title: 'A has endpoints that never answer, and makes 2 payments per second',
    unit: 'hanging endpoints',
    providerMs: 0,
    start: keepHanging,
  },
  {
    name: 'guesses',
    title: 'API keys are guessed',
    unit: 'keys per second',
    providerMs: 0,
    start: keepGuessing,
  },
]

const TOP_UP_MS = 250
const SENDERS = 16

/** Keeps so many unfinished operations of A: what the workers complete is replaced. */
async function keepBacklog(parts: NoiseParts, level: number): Promise<() => Promise<void>> {
  const { owner, noisy, signal } = parts
  const topUp = async () => {
    // Not longer: the service closes idle connections, perhaps while a request is being sent.
    const agent = new Agent({ keepAlive: true, maxSockets: SENDERS })
    let missing = level - (await countUnfinished(owner, noisy.id))
    const sendMissing = async () => {
      while (missing > 0) {
        missing -= 1
        expectStatus(await accept(parts, agent), 202)
      }
    }
    await Promise.all(Array.from({ length: SENDERS }, sendMissing)).finally(() => agent.destroy())
  }
  await topUp()
  const stop = repeat(topUp, TOP_UP_MS)
  return async () => {
    await stop()
    // First the jobs: a worker that claims operations while they are deleted could be in a deadlock.
    await owner`
      delete from ${owner(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and data ->> 'tenantId' = ${noisy.id} and state < 'active'
    `
    await untilQuiet(owner, signal)
    await removeUnfinished(owner, noisy.id)
  }
}

async function countUnfinished(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from idempotency_keys
    where tenant_id = ${tenantId} and status in ('pending', 'processing')
  `
  return row?.count ?? 0
}

const PAYMENT_EACH_MS = 500

/** How many endpoints have to hang before B is measured; all of them take longer. */
const HANGING_FIRST = 5

/** A makes payments, each with two events for each of so many endpoints that never answer. */
async function keepHanging(parts: NoiseParts, level: number): Promise<() => Promise<void>> {
  const { apiUrl, noisy, receiver } = parts
  const agent = new Agent()
  const paths: string[] = []
  for (let number = 1; number <= level; number += 1) {
    const body = JSON.stringify({ url: receiver.hangingUrl(number) })
    const reply = await post(parts, agent, '/v1/webhook-endpoints', body)
    expectStatus(reply, 201)
    paths.push(`/v1/webhook-endpoints/${(JSON.parse(reply.text) as { id: string }).id}`)
  }
  const stop = repeat(async () => expectStatus(await accept(parts, agent), 202), PAYMENT_EACH_MS)
  await receiver.untilHanging(Math.min(level, HANGING_FIRST))
  return async () => {
    await stop()
    for (const path of paths) {
      const headers = headersOf(noisy)
      expectStatus(await send(`${apiUrl}${path}`, { agent, headers, method: 'DELETE' }), 200)
    }
    receiver.release()
  }
}

async function keepGuessing(parts: NoiseParts, level: number): Promise<() => Promise<void>> {
  await parts.guesses.ask({ perSecond: level })
  return async () => void (await parts.guesses.ask({ perSecond: 0 }))
}

function accept(parts: NoiseParts, agent: Agent): Promise<Reply> {
  return post(parts, agent, '/v1/payments', PAYMENT, { prefer: 'respond-async' })
}

function post(
  { apiUrl, noisy }: NoiseParts,
  agent: Agent,
  path: string,
  body: string,
  headers = {},
): Promise<Reply> {
  const own = { ...headersOf(noisy), 'content-type': 'application/json', ...headers }
  return send(`${apiUrl}${path}`, { agent, headers: own, method: 'POST' }, body)
}

function headersOf({ apiKey }: BenchTenant): Record<string, string> {
  return { authorization: `Bearer ${apiKey}`, 'idempotency-key': randomUUID() }
}

function expectStatus({ status, text }: Reply, expected: number): void {
  if (status !== expected) throw new Error(`a request of the noise got ${status}: ${text}`)
}

/** Repeats the work with pauses. The result ends it, and throws what the work has thrown. */
function repeat(work: () => Promise<void>, pauseMs: number): () => Promise<void> {
  const stopping = new AbortController()
  const run = async () => {
    while (!stopping.signal.aborted) {
      await work()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs)
        stopping.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), {
          once: true,
        })
      })
    }
  }
  const running = run()
  running.catch(() => {})
  return async () => {
    stopping.abort()
    await running
  }
}
