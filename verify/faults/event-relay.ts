// Relays the provider's events to the API, with their original bytes and signatures. It receives
// each event as the webhook of the Stripe stand-in, and delivers it when, as often and in the order
// that a run wants.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { RUN_FIELD } from '../simulate/history.ts'
import { signBody } from '../../dev/stripe-stand-in/webhooks/webhook-sender.ts'
import type { Lane } from './lane.ts'
import type { Merchant } from './merchant.ts'
import { poll } from './poll.ts'
import { listen } from './links.ts'

/** A signed event as it is sent over HTTP. */
export interface SignedEvent {
  readonly type: string
  readonly body: string
  readonly signature: string
}

const ARRIVAL_LIMIT_MS = 5_000
const DELIVERY_LIMIT_MS = 20_000
const PAUSE = { pauseMs: 5 }
const NOT_ACCEPTED = 503

export interface EventRelay {
  /** The event of that type when it arrives; undefined when it does not in time. */
  waitFor(type: string, limitMs?: number): Promise<SignedEvent | undefined>
  /** Resolves when the API has accepted an event of the type that is passed on. */
  untilAccepted(type: string): Promise<void>
  /** A signed event that the provider has not sent: a copy of the last one, with another type. */
  forge(type: string): SignedEvent
  /** Delivers the event until the API accepts it, as the provider does. */
  deliver(event: SignedEvent): Promise<void>
}

/**
 * Relays the provider's events of the run while the work runs. Late events of earlier runs are dropped.
 *
 * @param deliversOnArrival events of these types are delivered on arrival, and the provider gets the
 *   answer of the API.
 * @param intentId also its events: those of a dispute of this intent, which has metadata of its own.
 */
export async function withRelay(
  { lane, history: { run } }: Pick<Merchant, 'lane' | 'history'>,
  deliversOnArrival: readonly string[],
  work: (relay: EventRelay) => Promise<void>,
  intentId?: string,
): Promise<void> {
  const events: SignedEvent[] = []
  const accepted = new Set<string>()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    // The provider left before it had sent all of it; it sends the event again.
    if (!request.complete || body === '') return void response.destroy()
    const { type } = JSON.parse(body) as { type: string }
    const event = { type, body, signature: String(request.headers['stripe-signature']) }
    const isOfRun = runOf(body) === run || (intentId !== undefined && intentOf(body) === intentId)
    if (isOfRun) events.push(event)
    const isPassedOn = isOfRun && deliversOnArrival.includes(type)
    response.writeHead(isPassedOn ? await post(event) : 200).end()
  }

  async function post({ type, body, signature }: SignedEvent): Promise<number> {
    try {
      const { status, ok } = await fetch(`${lane.apiUrl}/provider/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
        body,
        signal: AbortSignal.timeout(ARRIVAL_LIMIT_MS),
      })
      if (ok) accepted.add(type)
      return status
    } catch {
      // The event was not accepted, or the acknowledgment was lost.
      return NOT_ACCEPTED
    }
  }

  async function until(isAccepted: () => boolean | Promise<boolean>, type: string): Promise<void> {
    if (await poll(DELIVERY_LIMIT_MS, isAccepted, PAUSE)) return
    throw new Error(`the API did not accept ${type} in time`)
  }

  const server = createServer((request, response) => void receive(request, response))
  const port = await listen(server)
  try {
    await sendTo(lane, `http://127.0.0.1:${port}/`)
    try {
      await work({
        async waitFor(type, limitMs = ARRIVAL_LIMIT_MS) {
          const find = () => events.find((known) => known.type === type)
          await poll(limitMs, () => find() !== undefined, PAUSE)
          return find()
        },
        untilAccepted: (type) => until(() => accepted.has(type), type),
        forge(type) {
          const last = events.at(-1)
          if (last === undefined) throw new Error('there is no event to copy')
          const id = `evt_${randomUUID().replaceAll('-', '')}`
          const body = JSON.stringify({ ...(JSON.parse(last.body) as object), id, type })
          return { type, body, signature: signBody(body, [lane.secrets[1] ?? ''], Date.now()) }
        },
        deliver: (event) => until(async () => (await post(event)) < 300, event.type),
      })
    } finally {
      await sendTo(lane, null)
    }
  } finally {
    server.close()
    server.closeAllConnections()
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
