// Generates a steady load on the API: each client creates and reads payments in turn at fixed
// times. Latency counts from the moment a request was due, so that a stalled server cannot hide the
// delay.
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { anyOf, send, type Reply } from '../requests.ts'
import type { BenchTenant } from '../stack.ts'

const CLIENTS = 8
const PAYMENTS = 2_000

export interface Target {
  readonly apiUrl: string
  readonly tenants: readonly BenchTenant[]
  /** Existing payments, for the reads. */
  readonly payments: readonly { readonly id: string; readonly tenant: BenchTenant }[]
  /**
   * Requests per second. With 0, each client sends its next request as soon as it has an answer.
   */
  readonly rate: number
}

/** The times of the answers, in milliseconds. */
export interface LoadTimes {
  readonly acceptMs: number[]
  readonly getMs: number[]
}

export interface Load {
  /** Stops sending, waits for the outstanding answers and returns the times. */
  stop(): Promise<LoadTimes>
}

/** Chooses random payments of all ages for the reads. */
export async function choosePayments(
  sql: Sql,
  tenants: readonly BenchTenant[],
): Promise<Target['payments']> {
  const [row] = await sql<{ count: number }[]>`select count(*)::float8 as count from payments`
  const percent = Math.min(100, (100 * PAYMENTS) / (row?.count ?? 1))
  const rows = await sql<{ tenant_id: string; id: string }[]>`
    select tenant_id, id from payments tablesample bernoulli(${percent}::float4)
    where status = 'succeeded'
  `
  const known = new Map(tenants.map((tenant) => [tenant.id, tenant]))
  return rows.flatMap(({ tenant_id, id }) => {
    const tenant = known.get(tenant_id)
    return tenant === undefined ? [] : [{ id: showId('pay', id), tenant }]
  })
}

/** Starts the load. An unexpected answer makes `stop` throw. */
export function startLoad(target: Target): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const times: LoadTimes = { acceptMs: [], getMs: [] }
  const stopping = new AbortController()
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    runClient({ target, agent, times, stop: stopping.signal, number }),
  )
  const ended = Promise.all(clients)
  // `stop` reports the error. Until then it must not count as an unhandled rejection.
  ended.catch(() => {})
  return {
    async stop() {
      stopping.abort()
      try {
        await ended
      } finally {
        agent.destroy()
      }
      return times
    },
  }
}

interface Client {
  readonly target: Target
  readonly agent: Agent
  readonly times: LoadTimes
  readonly stop: AbortSignal
  readonly number: number
}

async function runClient({ target, agent, times, stop, number }: Client): Promise<void> {
  const intervalMs = target.rate === 0 ? 0 : (CLIENTS * 1_000) / target.rate
  const beganAt = performance.now() + (number * intervalMs) / CLIENTS
  for (let turn = 0; !stop.aborted; turn += 1) {
    const dueAt = intervalMs === 0 ? performance.now() : beganAt + turn * intervalMs
    const earlyMs = dueAt - performance.now()
    if (earlyMs > 0) await delay(earlyMs)
    if (stop.aborted) return
    const accepts = (turn + number) % 2 === 0
    await (accepts ? accept(target, agent) : get(target, agent))
    const list = accepts ? times.acceptMs : times.getMs
    list.push(performance.now() - dueAt)
  }
}

const BODY = JSON.stringify({
  amount: 1999,
  currency: 'usd',
  payment_method: 'pm_card_visa',
  description: 'An order of the shop',
})

async function accept({ apiUrl, tenants }: Target, agent: Agent): Promise<void> {
  const headers = {
    authorization: `Bearer ${anyOf(tenants).apiKey}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
    prefer: 'respond-async',
  }
  await expectStatus(
    202,
    await send(`${apiUrl}/v1/payments`, { agent, headers, method: 'POST' }, BODY),
  )
}

async function get({ apiUrl, payments }: Target, agent: Agent): Promise<void> {
  const { id, tenant } = anyOf(payments)
  const headers = { authorization: `Bearer ${tenant.apiKey}` }
  await expectStatus(200, await send(`${apiUrl}/v1/payments/${id}`, { agent, headers }))
}

async function expectStatus(expected: number, { status, text }: Reply): Promise<void> {
  if (status !== expected) throw new Error(`the API answered ${status} to the load: ${text}`)
}
