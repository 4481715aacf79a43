// The shortages: PostgreSQL has no connection left, its disk is full, or it ends a deadlock. It must
// itself have refused the process, and when the shortage is over new payments must succeed at once.
import { setTimeout as wait } from 'node:timers/promises'
import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import type { Store } from '../../src/db/connection/client.ts'
import { checkReturn, type Violation } from './results.ts'
import { AUTOMATIC, type FaultContext } from './scenario.ts'
import type { Lane } from './lane.ts'
import type { Point, Role } from './points.ts'
import { Merchant } from './merchant.ts'
import { poll, retryWhileDown } from './poll.ts'
import { startupMessage } from './frames.ts'
import type { Action } from './watch.ts'
import type { SmallDisk } from './lane-parts.ts'

const REFUSAL_LIMIT_MS = 8_000
const POLL_MS = 10

/** Pays after the shortage. The store has served again since `servesAt`. */
export async function payAgain(
  {
    lane,
    merchant,
    reportReturn,
    isConcurrent,
  }: Pick<FaultContext, 'lane' | 'merchant' | 'reportReturn' | 'isConcurrent'>,
  servesAt: number,
): Promise<Violation[]> {
  // The lane's own connection may have been opened while the store was away, and fails then.
  const tenant = await retryWhileDown(() => lane.createTenant(), merchant.signal)
  const next = new Merchant(lane, tenant, merchant.signal)
  const { status, resource } = await next.pay(AUTOMATIC)
  const ms = performance.now() - servesAt
  reportReturn(ms)
  const what = `the first payment after the outage was answered ${status} ${resource.status ?? ''}`
  const hasSucceeded = resource.status === 'succeeded'
  return [...(hasSucceeded ? [] : [{ invariant: 7, what }]), ...checkReturn(ms, isConcurrent)]
}

interface RefusalWait {
  /** How many such errors the process had before. */
  readonly before: number
  readonly limitMs?: number
}

/** Resolves when the process got the error from PostgreSQL. Without one the fault has missed. */
export async function untilRefused(
  { lane, reportMissed }: Pick<FaultContext, 'lane' | 'reportMissed'>,
  role: Role,
  sqlState: string,
  { before, limitMs = REFUSAL_LIMIT_MS }: RefusalWait,
): Promise<void> {
  const isRefused = () => countErrors(lane, role, sqlState) > before
  if (!(await poll(limitMs, isRefused, { pauseMs: POLL_MS }))) reportMissed()
}

/** How many such errors the live processes of a role got from PostgreSQL. */
function countErrors({ processes }: Lane, role: Role, sqlState: string): number {
  const own = processes.filter((process) => process.role === role)
  return own.flatMap(({ store }) => store.sqlErrors).filter((state) => state === sqlState).length
}

const TOO_MANY = '53300'

/** How long a shortage lasts after the first refusal. */
const FULL_MS = 400
const SERVER_POLL_MS = 20
/** Connections opened at once: the server starts a process for each. */
const AT_ONCE = 16
const REFUSED = 'E'.charCodeAt(0)

/** The statement of the point is lost with its connection. */
export function occupyConnections(context: FaultContext, point: Point): Action {
  const occupied = new OccupiedConnections(context.lane)
  const full = occupyAll(context.lane, occupied)
  context.trackWork(
    full
      .then((from) => releaseAgain(context, point, { occupied, from }))
      .finally(() => {
        occupied.release()
        for (const { store } of context.lane.processes) store.reopen()
      }),
  )
  return { do: 'wait', until: full.then(() => 'end') }
}

/** Returns since when the service has had no connection. */
async function occupyAll(lane: Lane, occupied: OccupiedConnections): Promise<number> {
  await occupied.fill()
  const from = performance.now()
  for (const { store } of lane.processes) store.shut()
  while ((await countServiceConnections(lane)) > 0) await wait(SERVER_POLL_MS)
  await occupied.fill()
  return from
}

interface Occupation {
  readonly occupied: OccupiedConnections
  readonly from: number
}

async function releaseAgain(
  context: FaultContext,
  { role }: Point,
  { occupied, from }: Occupation,
): Promise<Violation[]> {
  const { lane } = context
  const before = countErrors(lane, role, TOO_MANY)
  for (const { store } of lane.processes) store.reopen()
  await untilRefused(context, role, TOO_MANY, { before })
  await wait(FULL_MS)
  const to = performance.now()
  for (const { store } of lane.processes) store.absences.push({ from, to })
  occupied.release()
  // Hundreds of backends have to end first.
  await occupied.untilAvailable()
  return await payAgain(context, performance.now())
}

async function countServiceConnections({ owner: { sql } }: Lane): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where backend_type = 'client backend' and datname = current_database()
      and application_name not in ('fault suite', '')
  `
  return row?.count ?? 0
}

/**
 * Connections that have sent a startup message and no password. Each takes up one of the server's.
 */
export class OccupiedConnections {
  readonly #to: URL
  readonly #sockets = new Set<Socket>()

  constructor({ options: { server, name } }: Pick<Lane, 'options'>) {
    this.#to = new URL(server.url(name))
  }

  /** Opens connections until the server refuses one. */
  async fill(): Promise<void> {
    for (;;) {
      const tries = await Promise.all(Array.from({ length: AT_ONCE }, () => this.#open()))
      if (tries.includes(false)) return
    }
  }

  /** Whether the server accepted the connection. */
  async #open(): Promise<boolean> {
    const socket = connect(Number(this.#to.port), this.#to.hostname).on('error', () => {})
    this.#sockets.add(socket)
    socket.write(startupMessage({ user: this.#to.username, database: this.#to.pathname.slice(1) }))
    return await new Promise((resolve) => {
      // The server requests the password, or refuses.
      socket.once('data', ([type]) => resolve(type !== REFUSED))
      socket.once('close', () => {
        this.#sockets.delete(socket)
        resolve(false)
      })
    })
  }

  /** Resolves when the server accepts connections again. */
  async untilAvailable(): Promise<void> {
    while (!(await this.#open())) await wait(SERVER_POLL_MS)
    this.release()
  }

  release(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

const DEADLOCK = '40P01'

/**
 * PostgreSQL checks once, when a session has waited for a second: there must be a deadlock by then.
 */
const BLOCKING_LIMIT_MS = 3_000

interface Session {
  readonly sql: postgres.Sql
  readonly pid: number
  /** The payment that it locked; undefined when no operation of a payment is in progress. */
  readonly paymentId: string | undefined
}

export function causeDeadlock(context: FaultContext, { role }: Point): Action {
  const { lane, merchant, reportMissed } = context
  const { id: tenantId } = merchant.tenant
  const before = countErrors(lane, role, DEADLOCK)
  const session = lockPayment(lane, tenantId)
  context.trackWork(
    session.then(async ({ sql, pid, paymentId }) => {
      try {
        if (paymentId === undefined || !(await untilBlocking(lane, pid))) {
          reportMissed()
          return []
        }
        await sql`
          select from idempotency_keys
          where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'processing'
          for update
        `
        await untilRefused(context, role, DEADLOCK, { before })
        return []
      } finally {
        await sql`rollback`
        await sql.end()
      }
    }),
  )
  return { do: 'wait', until: session.then(() => 'pass') }
}

/**
 * Locks the payment of one operation only. If several sessions waited for it, PostgreSQL would
 * abort the one that it checks next. The others were checked before there was a deadlock, and would
 * wait.
 */
async function lockPayment({ databaseUrl }: Lane, tenantId: string): Promise<Session> {
  const sql = postgres(databaseUrl, { max: 1 })
  await sql`begin`
  // The worker's session has to find the deadlock.
  await sql`set local deadlock_timeout = '1min'`
  const [locked] = await sql<{ id: string }[]>`
    select payments.id from payments
    join idempotency_keys on idempotency_keys.tenant_id = payments.tenant_id and payment_id = payments.id
    where payments.tenant_id = ${tenantId} and idempotency_keys.status = 'processing'
    order by idempotency_keys.id limit 1
    for update of payments
  `
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return { sql, pid: row?.pid ?? 0, paymentId: locked?.id }
}

/** Whether another session waits for this one in time. */
async function untilBlocking({ owner: { sql } }: Lane, pid: number): Promise<boolean> {
  const isBlocking = async () => {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and ${pid} = any (pg_blocking_pids(pid))
    `
    return waiting.length > 0
  }
  return await poll(BLOCKING_LIMIT_MS, isBlocking, { pauseMs: 10 })
}

const DISK_FULL = '53100'

/** Fills the disk before the statement is executed, and frees it a while after one has failed. */
export function fillDisk(context: FaultContext, point: Point): Action {
  const { disk } = context.lane.options
  if (disk === undefined || typeof disk === 'string')
    throw new Error(`no disk: ${disk ?? 'shared'}`)
  const before = countErrors(context.lane, point.role, DISK_FULL)
  const filled = fill(context.lane.owner, disk)
  context.trackWork(filled.then(() => freeAgain(context, point, { disk, before })))
  return { do: 'wait', until: filled.then(() => 'pass') }
}

async function fill({ sql }: Store, disk: SmallDisk): Promise<void> {
  await sql`update fault_suite_disk set is_full = true`
  await disk.fill()
}

interface FilledDisk {
  readonly disk: SmallDisk
  /** How many such errors the process had before. */
  readonly before: number
}

async function freeAgain(
  context: FaultContext,
  { role }: Point,
  { disk, before }: FilledDisk,
): Promise<Violation[]> {
  const { lane } = context
  await untilRefused(context, role, DISK_FULL, { before })
  await wait(FULL_MS)
  await disk.free()
  const freeAt = performance.now()
  await lane.owner.sql`update fault_suite_disk set is_full = false`
  return await payAgain(context, freeAt)
}
