// Listens on channels, over one connection for all of them. A connection that only listens would never
// notice that its server went silent or is no longer the primary, so it asks.
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { withinMs } from './store-errors.ts'
import {
  connectDriver,
  RECONNECT_DELAY_MAX_SECONDS,
  UNPREPARED,
  type Database,
  type DriverOptions,
} from './driver.ts'
import { readConnection, settingsOfSession } from './pool/session-settings.ts'
import { readServer } from './server/server.ts'

export interface Receiver {
  readonly onNotify: (payload: string) => void
  /**
   * Is called with true when notifications arrive from now on, and with false when they stop: those
   * in between are lost.
   */
  readonly onListening: (isListening: boolean) => void
}

/** Behind a pooler in transaction mode, what is sent on it does not arrive. */
const PROBE_CHANNEL = 'atomic_probe'
const PROBE_LIMIT_MS = 10_000
/** How long it pauses then. The pooler may be replaced. */
const UNNOTIFIED_PAUSE_MS = 60_000

class Unnotified extends Error {}

/** How often the server is asked, and how long it may take to answer. */
const CHECK_INTERVAL_MS = 4_000
const CHECK_LIMIT_MS = 2_000

/** Connects when the first channel is added, and again when the connection is lost. */
export class Listener {
  readonly #database: Database
  readonly #driver: DriverOptions
  readonly #receivers = new Map<string, Receiver>()
  readonly #closing = new AbortController()
  /** Makes the connection listen on channels that were added. */
  #listenOnAll = async (): Promise<void> => {}
  #running: Promise<void> | undefined
  #unnotified: () => void

  /** @param unnotified is called when notifications do not arrive, once. */
  constructor(database: Database, driver: DriverOptions, unnotified = () => {}) {
    this.#database = database
    this.#driver = driver
    this.#unnotified = unnotified
  }

  /** Listens until the listener is closed. A channel has one receiver: the last one. */
  listen(channel: string, receiver: Receiver): void {
    this.#receivers.set(channel, receiver)
    this.#running ??= this.#keepListening()
    void this.#listenOnAll().catch(() => {})
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #keepListening(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const isUnnotified = await this.#listenUntilLost().catch(
        (error: unknown) => error instanceof Unnotified,
      )
      for (const { onListening } of this.#receivers.values()) onListening(false)
      if (isUnnotified) {
        this.#unnotified()
        this.#unnotified = () => {}
      }
      const pauseMs = isUnnotified ? UNNOTIFIED_PAUSE_MS : RECONNECT_DELAY_MAX_SECONDS * 1_000
      await pause(pauseMs, signal).catch(() => {})
    }
  }

  /** @throws Unnotified when notifications do not arrive. */
  async #listenUntilLost(): Promise<never> {
    const { latest, connectTimeoutMs } = this.#database
    const lost = new AbortController()
    const lose = () => lost.abort()
    this.#closing.signal.addEventListener('abort', lose)
    const client = connectDriver(this.#database, {
      ...this.#driver,
      ...UNPREPARED,
      max_lifetime: null,
      onclose: lose,
      onnotify: (channel, payload) => {
        if (channel === PROBE_CHANNEL) probe.resolve()
        else this.#receivers.get(channel)?.onNotify(payload)
      },
    })
    const probe = Promise.withResolvers<void>()
    const told = new Set<Receiver>()
    this.#listenOnAll = async () => {
      const all = [...this.#receivers]
      const [server] = await Promise.all([
        readServer(client),
        ...all.map(([channel]) => client`listen ${client(channel)}`),
      ])
      latest.note(server)
      for (const [, receiver] of all) {
        if (!told.has(receiver)) receiver.onListening(true)
        told.add(receiver)
      }
    }
    try {
      const limitMs = connectTimeoutMs + CHECK_LIMIT_MS
      const { isPooled } = await withinMs(limitMs, readConnection(client))
      if (isPooled) {
        await withinMs(PROBE_LIMIT_MS, this.#expectNotifications(client, probe.promise))
      } else {
        await withinMs(CHECK_LIMIT_MS, client.unsafe(settingsOfSession()))
      }
      await withinMs(CHECK_LIMIT_MS, this.#listenOnAll())
      for (;;) {
        await pause(CHECK_INTERVAL_MS, lost.signal)
        await withinMs(CHECK_LIMIT_MS, this.#listenOnAll())
      }
    } finally {
      this.#listenOnAll = async () => {}
      this.#closing.signal.removeEventListener('abort', lose)
      await client.end({ timeout: 0 })
    }
  }

  /** Another connection notifies this one, which is idle then. */
  async #expectNotifications(client: Sql, arrived: Promise<void>): Promise<void> {
    const notifier = connectDriver(this.#database, { ...this.#driver, ...UNPREPARED })
    try {
      await client`listen ${client(PROBE_CHANNEL)}`
      await notifier`select pg_notify(${PROBE_CHANNEL}, '')`
      await withinMs(CHECK_LIMIT_MS, arrived).catch(() => {
        throw new Unnotified()
      })
    } finally {
      await notifier.end({ timeout: 0 })
    }
  }
}

/** @throws the reason of the signal. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false })
}
