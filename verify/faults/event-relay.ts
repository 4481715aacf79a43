// Relays the provider's events to the API, with their original bytes and signatures. It receives
// each event as the webhook of the Stripe stand-in, and delivers it when, as often and in the order
// that a run wants.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { RUN_FIELD } from '../simulate/history.ts'
import { signBody } from '../../dev/stripe-stand-in/webhooks/webhook-sender.ts'
import type { Lane } from './lane.ts'
import type { Merchant } from './merchant.ts'
import { poll } from './poll.ts'

/** A signed event as it is sent over HTTP. */
export interface SignedEvent {
  readonly type: string
  readonly body: string
  readonly signature: string
}

interface EventRelayOptions {
  readonly lane: Lane
  /** The run whose events are relayed. Late events of earlier runs are dropped. */
  readonly run: string
  /** Also its events: those of a dispute of this intent, which has metadata of its own. */
  readonly intentId?: string | undefined
  /** Events of these types are delivered on arrival, and the provider gets the answer of the API. */
  readonly deliversOnArrival?: readonly string[]
}

const ARRIVAL_LIMIT_MS = 5_000
const DELIVERY_LIMIT_MS = 20_000
const PAUSE = { pauseMs: 5 }
const NOT_ACCEPTED = 503

export class EventRelay {
  /** The events that have arrived, in order. */
  readonly events: SignedEvent[] = []
  readonly #options: EventRelayOptions
  readonly #server: Server
  readonly #acceptedTypes = new Set<string>()

  private constructor(options: EventRelayOptions) {
    this.#options = options
    this.#server = createServer((request, response) => void this.#receive(request, response))
  }

  /** From now on the provider sends events. */
  static async open(options: EventRelayOptions): Promise<EventRelay> {
    const relay = new EventRelay(options)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    const { port } = relay.#server.address() as AddressInfo
    try {
      await sendTo(options.lane, `http://127.0.0.1:${port}/`)
      return relay
    } catch (error) {
      await relay.#closeServer()
      throw error
    }
  }

  async close(): Promise<void> {
    try {
      await sendTo(this.#options.lane, null)
    } finally {
      await this.#closeServer()
    }
  }

  async #closeServer(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  /** The event of that type when it arrives; undefined when it does not in time. */
  async waitFor(type: string, limitMs = ARRIVAL_LIMIT_MS): Promise<SignedEvent | undefined> {
    const find = () => this.events.find((known) => known.type === type)
    await poll(limitMs, () => find() !== undefined, PAUSE)
    return find()
  }

  /** Resolves when the API has accepted an event of the type that is passed on. */
  async untilAccepted(type: string): Promise<void> {
    if (await poll(DELIVERY_LIMIT_MS, () => this.#acceptedTypes.has(type), PAUSE)) return
    throw new Error(`the API did not accept ${type} in time`)
  }

  /** A signed event that the provider has not sent: a copy of the last one, with another type. */
  forge(type: string): SignedEvent {
    const last = this.events.at(-1)
    if (last === undefined) throw new Error('there is no event to copy')
    const id = `evt_${randomUUID().replaceAll('-', '')}`
    const body = JSON.stringify({ ...(JSON.parse(last.body) as object), id, type })
    const secret = this.#options.lane.secrets[1] ?? ''
    return { type, body, signature: signBody(body, [secret], Date.now()) }
  }

  /** Delivers the event until the API accepts it, as the provider does. */
  async deliver(event: SignedEvent): Promise<void> {
    const isAccepted = async () => (await this.#post(event)) < 300
    if (await poll(DELIVERY_LIMIT_MS, isAccepted, PAUSE)) return
    throw new Error(`the API did not accept ${event.type} in time`)
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    // The provider left before it had sent all of it; it sends the event again.
    if (!request.complete || body === '') return void response.destroy()
    const { type } = JSON.parse(body) as { type: string }
    const event = { type, body, signature: String(request.headers['stripe-signature']) }
    const { run, intentId, deliversOnArrival } = this.#options
    const isOfRun = runOf(body) === run || (intentId !== undefined && intentOf(body) === intentId)
    if (isOfRun) this.events.push(event)
    const isPassedOn = isOfRun && deliversOnArrival?.includes(type) === true
    response.writeHead(isPassedOn ? await this.#post(event) : 200).end()
  }

  async #post({ type, body, signature }: SignedEvent): Promise<number> {
    try {
      const { status, ok } = await fetch(`${this.#options.lane.apiUrl}/provider/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
        body,
        signal: AbortSignal.timeout(ARRIVAL_LIMIT_MS),
      })
      if (ok) this.#acceptedTypes.add(type)
      return status
    } catch {
      // The event was not accepted, or the acknowledgment was lost.
      return NOT_ACCEPTED
    }
  }
}

/** Relays the provider's events of the run while the work runs. */
export async function withRelay(
  { lane, history: { run } }: Merchant,
  deliversOnArrival: readonly string[],
  work: (relay: EventRelay) => Promise<void>,
  intentId?: string,
): Promise<void> {
  const relay = await EventRelay.open({ lane, run, deliversOnArrival, intentId })
  try {
    await work(relay)
  } finally {
    await relay.close()
  }
}

function intentOf(body: string): string | undefined {
  const { data } = JSON.parse(body) as { data: { object: { payment_intent?: string } } }
  return data.object.payment_intent
}

function runOf(body: string): string | undefined {
  const { data } = JSON.parse(body) as { data: { object: { metadata?: Record<string, string> } } }
  return data.object.metadata?.[RUN_FIELD]
}

async function sendTo({ provider }: Lane, url: string | null): Promise<void> {
  await provider.control('POST', 'webhooks', { url })
}
