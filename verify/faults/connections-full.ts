// A fault: the server has no connection left. The suite occupies all of them, and the service,
// which has lost its own, is refused by PostgreSQL itself. Then the suite releases them.
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { FaultContext } from './fault.ts'
import { startupMessage } from './frames.ts'
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import { countErrors, payAgain, untilRefused } from './shortage.ts'
import type { Action } from './watch.ts'

const TOO_MANY = '53300'

/** How long there is no connection, after the first refusal. */
const FULL_MS = 400
const POLL_MS = 20
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
  while ((await countServiceConnections(lane)) > 0) await wait(POLL_MS)
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
    while (!(await this.#open())) await wait(POLL_MS)
    this.release()
  }

  release(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
