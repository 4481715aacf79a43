// A fault: the server has no connection left. The suite occupies all of them, and the service,
// which has lost its own, is refused by PostgreSQL itself. Then the suite releases them.
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Scene } from './faults.ts'
import { openingOf } from './frames.ts'
import type { Lane } from './lane.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import { countHeard, payAgain, untilHeard } from './shortage.ts'
import type { Verdict } from './watch.ts'

const TOO_MANY = '53300'

/** How long there is no connection, after the first refusal. */
const FULL_MS = 400
const POLL_MS = 20
/** Connections opened at once: the server starts a process for each. */
const AT_ONCE = 16
const REFUSED = 'E'.charCodeAt(0)

/** The statement of the point is lost with its connection. */
export function holdConnections(scene: Scene, point: Point): Verdict {
  const held = new HeldConnections(scene.lane)
  const full = takeAll(scene.lane, held)
  scene.meanwhile(
    full
      .then((from) => giveBack(scene, point, { held, from }))
      .finally(() => {
        held.release()
        for (const { store } of scene.lane.processes) store.reopen()
      }),
  )
  return { do: 'wait', until: full.then(() => 'end') }
}

/** Returns since when the service has had no connection. */
async function takeAll(lane: Lane, held: HeldConnections): Promise<number> {
  await held.fill()
  const from = performance.now()
  for (const { store } of lane.processes) store.shut()
  while ((await countOfService(lane)) > 0) await wait(POLL_MS)
  await held.fill()
  return from
}

interface Held {
  readonly held: HeldConnections
  readonly from: number
}

async function giveBack(scene: Scene, { role }: Point, { held, from }: Held): Promise<Violation[]> {
  const { lane } = scene
  const before = countHeard(lane, role, TOO_MANY)
  for (const { store } of lane.processes) store.reopen()
  await untilHeard(scene, role, TOO_MANY, { before })
  await wait(FULL_MS)
  const to = performance.now()
  for (const { store } of lane.processes) store.absences.push({ from, to })
  held.release()
  // Hundreds of backends have to end first.
  await held.untilGiven()
  return await payAgain(scene, performance.now())
}

async function countOfService({ owner: { sql } }: Lane): Promise<number> {
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
export class HeldConnections {
  readonly #to: URL
  readonly #sockets = new Set<Socket>()

  constructor({ options: { server, name } }: Pick<Lane, 'options'>) {
    this.#to = new URL(server.url(name))
  }

  /** Opens connections until the server refuses one. */
  async fill(): Promise<void> {
    for (;;) {
      const tries = await Promise.all(Array.from({ length: AT_ONCE }, () => this.#take()))
      if (tries.includes(false)) return
    }
  }

  /** Whether the server accepted the connection. */
  async #take(): Promise<boolean> {
    const socket = connect(Number(this.#to.port), this.#to.hostname).on('error', () => {})
    this.#sockets.add(socket)
    socket.write(openingOf({ user: this.#to.username, database: this.#to.pathname.slice(1) }))
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
  async untilGiven(): Promise<void> {
    while (!(await this.#take())) await wait(POLL_MS)
    this.release()
  }

  release(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
