// Listens on channels, over one connection for all of them. A connection that only listens would never
// notice that its server went silent or is no longer the primary, so it asks.
import { setTimeout as delay } from 'node:timers/promises'
import { withinMs } from './deadline.ts'
import {
  connectDriver,
  RECONNECT_DELAY_MAX_SECONDS,
  type Database,
  type DriverOptions,
} from './driver.ts'
import { fixSettings } from './pool/session-settings.ts'
import { readServer } from './server/server.ts'

export interface Receiver {
  readonly onNotify: (payload: string) => void
  /**
   * Is called with true when notifications arrive from now on, and with false when they stop: those
   * in between are lost.
   */
  readonly onListening: (isListening: boolean) => void
}

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

  constructor(database: Database, driver: DriverOptions) {
    this.#database = database
    this.#driver = driver
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
      await this.#listenUntilLost().catch(() => {})
      for (const { onListening } of this.#receivers.values()) onListening(false)
      await pause(RECONNECT_DELAY_MAX_SECONDS * 1_000, signal).catch(() => {})
    }
  }

  async #listenUntilLost(): Promise<void> {
    const { latest, connectTimeoutMs } = this.#database
    const lost = new AbortController()
    const lose = () => lost.abort()
    this.#closing.signal.addEventListener('abort', lose)
    const client = connectDriver(this.#database, {
      ...this.#driver,
      max_lifetime: null,
      onclose: lose,
      onnotify: (channel, payload) => this.#receivers.get(channel)?.onNotify(payload),
    })
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
      await withinMs(connectTimeoutMs + CHECK_LIMIT_MS, fixSettings(client))
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
}

/** @throws the reason of the signal. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false })
}
